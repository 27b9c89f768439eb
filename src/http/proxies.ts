import type { Logger } from '../domain/logger.ts'
import type { ApiHandler, ApiRequest } from './api-messages.ts'
import { clientAddress } from './client-address.ts'

/** Wraps a handler so that it receives each request as the client sent it. */
export type ProxyWrapper = (handler: ApiHandler) => ApiHandler

/**
 * Returns a wrapper for handlers behind proxies. A handler receives each request with the client's address, scheme and
 * host, as sent to the outermost trusted proxy.
 *
 * If no proxy is trusted but a request has a proxy's headers, logs a warning once, because all clients may share one
 * address.
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
 * Converts a request to the one that the outermost trusted proxy received. Drops facts that only untrusted proxies
 * state.
 */
export function asSentByClient(request: ApiRequest, trustedProxies: number): ApiRequest {
  if (trustedProxies > 0) return beyond(request, trustedProxies)
  if (!isProxied(request)) return request
  return asSeen(request, { header: name => request.header(name), scheme: undefined })
}

/** Headers that reveal a proxy. */
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

/** Returns the requested host: the outermost trusted proxy's `X-Forwarded-Host`, or else `Host`. */
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

/** Returns the client's scheme as the outermost trusted proxy states it. Without any proxy it is the connection's. */
function requestedScheme(request: ApiRequest, trustedProxies: number): ApiRequest['scheme'] {
  const told = entryOf(request.header('x-forwarded-proto'), trustedProxies)?.toLowerCase()
  if (told === 'http' || told === 'https') return told
  return isProxied(request) ? undefined : request.scheme
}

/** Returns the outermost trusted proxy's entry of a header to which each proxy appends. */
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

/** Copies field by field, because a spread would drop getters and methods of an adapter's class. */
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
