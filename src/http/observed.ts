import type { Clock } from '../domain/clock.ts'
import type { Metrics } from '../domain/metrics.ts'
import { renameWork } from '../domain/work.ts'
import type { ApiHandler } from './types.ts'

const ROUTE = '/ipfs/*path'

/** The gateway's handler with its answers counted. It has one route, and reads no bodies. */
export function observed(handler: ApiHandler, metrics: Pick<Metrics, 'request'>, clock: Clock): ApiHandler {
  return async request => {
    renameWork(`${request.method} ${ROUTE}`)
    const started = clock.now()
    const response = await handler(request)
    const { method } = request
    const { status } = response
    const ms = clock.now() - started
    metrics.request({ surface: 'gateway', method, route: ROUTE, status, source: null, bytesIn: 0, ms })
    return response
  }
}
