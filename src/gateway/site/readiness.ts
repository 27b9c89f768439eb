import type { ApiHandler } from '../../http/api-messages.ts'
import { isContentHost } from './subdomain.ts'

/**
 * Readiness of a gateway for new requests:
 *
 * - `ok`: it should. The node may be full, or without its database.
 * - `stopping`: the node stops soon.
 * - `no-claim`: the node was given up, or another process runs as it.
 * - `no-storage`: a block directory is missing or replaced.
 */
export type GatewayStatus = 'ok' | 'stopping' | 'no-claim' | 'no-storage'

const HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'access-control-allow-origin': '*',
}

/**
 * Answers `/ready` on a gateway's own origin, for load balancers. All other requests go to the gateway.
 *
 * @param host name of the gateway; on a content host below it, the path `/ready` belongs to the content
 */
export function withReadiness(
  gateway: ApiHandler,
  statusOf: () => GatewayStatus | Promise<GatewayStatus>,
  host: string | null,
): ApiHandler {
  return async request => {
    const { method, path } = request
    const isRead = method === 'GET' || method === 'HEAD'
    if (path !== '/ready' || !isRead || isContentHost(request.header('host'), host)) return gateway(request)
    const status = await statusOf()
    const body = JSON.stringify({ status })
    const headers = { ...HEADERS, 'content-length': String(Buffer.byteLength(body)) }
    return { status: status === 'ok' ? 200 : 503, headers, body: method === 'HEAD' ? null : body }
  }
}
