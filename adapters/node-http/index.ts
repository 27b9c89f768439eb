export { createHandler, type HandlerOptions, type NodeHandler, type ServedEngine } from './handler.ts'
export { PrometheusMetrics } from './metrics.ts'
export { createMetricsServer, type MetricsReaders } from './metrics-endpoint.ts'
export { createServer, type ServerOptions } from './server.ts'
