import { HoldfastError } from '../../src/domain/errors.ts'
import { createMetricsServer, type MeasuredEngine, type PrometheusMetrics } from '../node-http/index.ts'

/** Address of a listener for metrics alone. */
export interface MetricsAddress {
  host: string
  port: number
}

/** Serves `/metrics` on an address of its own, if there is one. Returns a function that stops it. */
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
