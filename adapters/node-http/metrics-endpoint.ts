import { createHash, timingSafeEqual } from 'node:crypto'
import http, { type IncomingMessage } from 'node:http'
import { BlockList } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { type ApiResponse, type Engine, PROXY_HEADERS } from '../../src/index.ts'
import { refusesHost } from './node-exchange.ts'
import type { PrometheusMetrics } from './prometheus-metrics.ts'

/** Without the parts for the access check, the metrics endpoint refuses every client. */
export type MeasuredEngine = Partial<Pick<Engine, 'stats' | 'answerMemory' | 'trustedProxies' | 'isContentHost'>>

/** Clients that may read the metrics on the port of the API. */
export interface MetricsReaders {
  /**
   * Clients that need no token. Default: `loopback`.
   *
   * - `loopback`: clients on this machine that use its name or address and no proxy; none if `trustedProxies` is set.
   * - `all`: all clients.
   * - `nobody`: no clients.
   */
  metricsFor?: 'loopback' | 'all' | 'nobody'
  /** Clients at any address may read the metrics with `Authorization: Bearer <token>`. */
  metricsToken?: string
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

/** Returns false for content host names, because untrusted pages run on them. */
export function answersMetrics(
  incoming: IncomingMessage,
  path: string,
  engine: MeasuredEngine,
  { metricsFor = 'loopback', metricsToken }: MetricsReaders,
): boolean {
  if (path !== '/metrics' || !isRead(incoming)) return false
  const { headers, socket } = incoming
  const header = (name: string): string | undefined => String(headers[name] ?? '') || undefined
  if (engine.isContentHost === undefined || engine.isContentHost(header)) return false
  if (metricsFor === 'all') return true
  if (metricsToken !== undefined && carries(headers.authorization, metricsToken)) return true
  return (
    metricsFor === 'loopback' &&
    engine.trustedProxies === 0 &&
    PROXY_HEADERS.every(name => headers[name] === undefined) &&
    isLoopback(socket.remoteAddress) &&
    isOwnHost(headers.host)
  )
}

export async function metricsResponse(
  incoming: IncomingMessage,
  metrics: PrometheusMetrics,
  engine: MeasuredEngine,
): Promise<ApiResponse> {
  // A stopping engine rejects `stats`, but the response still contains the counters.
  const stats = await engine.stats?.().catch(() => undefined)
  const memory = await engine.answerMemory?.()
  return {
    status: 200,
    headers: {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    },
    body: incoming.method === 'HEAD' ? null : metrics.text(stats, memory && { memory }),
  }
}

/**
 * Creates a server that serves only `/metrics`, without access control.
 *
 * @example createMetricsServer(engine, new PrometheusMetrics()).listen(9090, '127.0.0.1')
 */
export function createMetricsServer(engine: MeasuredEngine, metrics: PrometheusMetrics): http.Server {
  return http.createServer(async (incoming, outgoing) => {
    if (refusesHost(incoming, outgoing)) return
    const [path] = (incoming.url ?? '').split('?', 1)
    if (path !== '/metrics' || !isRead(incoming)) {
      outgoing.writeHead(404, { 'content-type': 'text/plain' }).end()
      return
    }
    const { status, headers, body } = await metricsResponse(incoming, metrics, engine)
    outgoing.writeHead(status, { ...headers }).end(body ?? undefined)
  })
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

function carries(authorization: string | undefined, token: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(authorization ?? ''), digest(`Bearer ${token}`))
}

function isLoopback(remoteAddress = ''): boolean {
  const address = remoteAddress.replace(/^::ffff:/, '')
  return address !== '' && LOOPBACK.check(address, address.includes(':') ? 'ipv6' : 'ipv4')
}

/**
 * Returns false for other host names: a malicious page could resolve its own host name to this machine (DNS rebinding).
 */
function isOwnHost(header: string | undefined): boolean {
  const url = `http://${header}`
  if (header === undefined || !URL.canParse(url)) return false
  const host = new URL(url).hostname.replace(/^\[/, '').replace(/\]$/, '')
  if (host === 'localhost' || host === hostname().toLowerCase()) return true
  if (isLoopback(host)) return true
  return Object.values(networkInterfaces()).some(addresses => addresses?.some(({ address }) => address === host))
}
