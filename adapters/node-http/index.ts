export { createHandler, type HandlerOptions, type NodeHandler, type ServedEngine } from './handler.ts'
export { createServer } from './server.ts'
