export { type FetchHandler, type FetchOptions, type FetchServedEngine, toFetch } from './fetch-handler.ts'
