import { HoldfastError } from '../../src/domain/errors.ts'
import { createMetricsServer, type MeasuredEngine, type PrometheusMetrics } from '../node-http/index.ts'

/** Where the metrics have a listener of their own. */
export interface MetricsAddress {
  host: string
  port: number
}

/** Serves nothing but `/metrics` there, or nothing at all without an address. Returns what ends it. */
export async function listenForMetrics(
  engine: MeasuredEngine,
  metrics: PrometheusMetrics,
  address: MetricsAddress | undefined,
): Promise<() => void> {
  if (address === undefined) return () => undefined
  const { host, port } = address
  const server = createMetricsServer(engine, metrics)
  await new Promise<void>((resolve, reject) => {
    server.once('error', cause => {
      reject(
        new HoldfastError('UNAVAILABLE', `cannot listen on ${host}:${port} for metrics: ${cause.message}`, { cause }),
      )
    })
    server.listen(port, host, resolve)
  })
  return () => {
    server.close()
    server.closeAllConnections()
  }
}
