export { createHandler, type HandlerOptions, type NodeHandler, type ServedEngine } from './handler.ts'
export { PrometheusMetrics } from './metrics.ts'
export { createServer } from './server.ts'
