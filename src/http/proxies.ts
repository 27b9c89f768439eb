import type { Logger } from '../domain/logger.ts'
import type { ApiHandler, ApiRequest } from './api-messages.ts'
import { clientAddress } from './client-address.ts'

/** Wraps a handler, which then receives each request as the client sent it. */
export type ProxyWrapper = (handler: ApiHandler) => ApiHandler

/**
 * Returns a wrapper that gives handlers the client's address, scheme and host, as the outermost trusted proxy received
 * them. If no proxy is trusted, proxy headers cause one warning: all clients may appear with the proxy's address.
 */
export function behindProxies(trustedProxies: number, logger: Logger): ProxyWrapper {
  let told = trustedProxies > 0
  return handler => request => {
    if (!told && isProxied(request)) {
      told = true
      const message = 'trustedProxies is 0, but a request came through a proxy: all its clients share one address'
      logger.warn({ remoteAddress: request.remoteAddress }, message)
    }
    return handler(asSentByClient(request, trustedProxies))
  }
}

/**
 * Returns the request as the outermost trusted proxy received it.
 *
 * @example const { remoteAddress } = asSentByClient(apiRequest, 1)
 */
export function asSentByClient(request: ApiRequest, trustedProxies: number): ApiRequest {
  if (trustedProxies > 0) return beyond(request, trustedProxies)
  if (!isProxied(request)) return request
  return asSeen(request, { header: name => request.header(name), scheme: undefined })
}

/** Headers that proxies add to requests. */
export const PROXY_HEADERS: readonly string[] = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-server',
  'x-forwarded-port',
  'x-real-ip',
]

/**
 * Returns the host that the client requested: the outermost trusted proxy's entry in `X-Forwarded-Host`, or else
 * `Host`.
 */
export function requestedHost(
  header: (name: string) => string | undefined,
  trustedProxies: number,
): string | undefined {
  const forwarded = trustedProxies === 0 ? undefined : header('x-forwarded-host')
  return forwarded === undefined || forwarded.trim() === '' ? header('host') : entryOf(forwarded, trustedProxies)
}

function isProxied(request: ApiRequest): boolean {
  return PROXY_HEADERS.some(name => request.header(name) !== undefined)
}

/** Returns the scheme that the client used. Without a trusted proxy, this is the scheme of the connection. */
function requestedScheme(request: ApiRequest, trustedProxies: number): ApiRequest['scheme'] {
  const told = entryOf(request.header('x-forwarded-proto'), trustedProxies)?.toLowerCase()
  if (told === 'http' || told === 'https') return told
  return isProxied(request) ? undefined : request.scheme
}

/** Returns the entry that the outermost trusted proxy appended to a header. */
function entryOf(header: string | undefined, trustedProxies: number): string | undefined {
  const entries = header?.split(',') ?? []
  return entries[Math.max(0, entries.length - trustedProxies)]?.trim()
}

function beyond(request: ApiRequest, trustedProxies: number): ApiRequest {
  const header = (name: string): string | undefined => request.header(name)
  const host = requestedHost(header, trustedProxies)
  return asSeen(request, {
    header: name => (name === 'host' ? host : request.header(name)),
    scheme: requestedScheme(request, trustedProxies),
    remoteAddress: clientAddress(request.remoteAddress, request.header('x-forwarded-for'), trustedProxies),
  })
}

/** Copies each field separately, because a spread would drop the getters and methods of an adapter's class. */
function asSeen(
  request: ApiRequest,
  seen: Pick<ApiRequest, 'header' | 'scheme'> & Partial<Pick<ApiRequest, 'remoteAddress'>>,
): ApiRequest {
  return {
    method: request.method,
    path: request.path,
    query: request.query,
    body: request.body,
    arrived: async () => (await request.arrived?.()) ?? null,
    signal: request.signal,
    remoteAddress: request.remoteAddress,
    ...seen,
  }
}
