import { createMetricsServer, type MeasuredEngine, type PrometheusMetrics } from '../node-http/index.ts'
import { cannotListen } from './listener.ts'

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
      reject(cannotListen(`${host}:${port} for metrics`, 'HOLDFAST_METRICS_LISTEN', cause))
    })
    server.listen(port, host, resolve)
  })
  return () => {
    server.close()
    server.closeAllConnections()
  }
}
