import { HoldfastError } from '../../src/domain/errors.ts'
import { createMetricsServer, type MeasuredEngine, type PrometheusMetrics } from '../node-http/index.ts'

export interface MetricsAddress {
  host: string
  port: number
}

/** Serves `/metrics` on a separate address, if one is configured. Returns a function that stops the listener. */
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
