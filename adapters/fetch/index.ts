export { type FetchHandler, type FetchOptions, type FetchServedEngine, toFetch } from './handler.ts'
