import type { IncomingMessage } from 'node:http'
import { BlockList } from 'node:net'
import type { ApiResponse, Engine } from '../../src/index.ts'
import type { PrometheusMetrics } from './metrics.ts'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

/** Whether a request is for the metrics and may have them; to everybody else there is nothing at that path. */
export function answersMetrics(incoming: IncomingMessage, path: string, readers: 'loopback' | 'all'): boolean {
  if (path !== '/metrics' || (incoming.method !== 'GET' && incoming.method !== 'HEAD')) return false
  if (readers === 'all') return true
  const { 'x-forwarded-for': forwardedFor, forwarded, via } = incoming.headers
  return forwardedFor === undefined && forwarded === undefined && via === undefined && isLoopback(incoming)
}

export async function metricsResponse(
  incoming: IncomingMessage,
  metrics: PrometheusMetrics,
  engine: { readonly stats?: Engine['stats'] },
): Promise<ApiResponse> {
  // A node that is stopping still tells what it has done.
  const stats = await engine.stats?.().catch(() => undefined)
  return {
    status: 200,
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
    body: incoming.method === 'HEAD' ? null : metrics.text(stats),
  }
}

function isLoopback({ socket: { remoteAddress = '' } }: IncomingMessage): boolean {
  const address = remoteAddress.replace(/^::ffff:/, '')
  return address !== '' && LOOPBACK.check(address, address.includes(':') ? 'ipv6' : 'ipv4')
}
