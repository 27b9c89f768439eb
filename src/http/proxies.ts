import type { Logger } from '../domain/logger.ts'
import type { ApiHandler, ApiRequest } from './api-messages.ts'
import { clientAddress } from './client-address.ts'

/** Puts a handler behind proxies: it is given each request as its client sent it. */
export type Behind = (handler: ApiHandler) => ApiHandler

/**
 * Handlers behind so many proxies are given each request as its client sent it to the outermost of them: with the client's
 * address, the scheme it came by and the host that it asked for.
 *
 * Proxies are trusted only as far as they are configured. Where none is, but a request carries what proxies add, the
 * log says so once: all clients may then look like one.
 */
export function behindProxies(trustedProxies: number, logger: Logger): Behind {
  let told = trustedProxies > 0
  return handler => request => {
    if (!told && isProxied(request)) {
      told = true
      const message = 'a request came through a proxy, and trustedProxies is 0: all its clients share one address'
      logger.warn({ remoteAddress: request.remoteAddress }, message)
    }
    return handler(asSentByClient(request, trustedProxies))
  }
}

/** A request as its client sent it to the outermost of so many proxies; what only untrusted ones know is left out. */
export function asSentByClient(request: ApiRequest, trustedProxies: number): ApiRequest {
  if (trustedProxies > 0) return beyond(request, trustedProxies)
  if (!isProxied(request)) return request
  return asSeen(request, { header: name => request.header(name), scheme: undefined })
}

/** Headers that show that a proxy stands in front. */
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

/** What was asked for as the host: of the trusted proxies the outermost tells it, if they tell it at all. */
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

/** What the client came by, as the outermost of the trusted proxies tells it. Past all proxies it is as it seems. */
function requestedScheme(request: ApiRequest, trustedProxies: number): ApiRequest['scheme'] {
  const told = entryOf(request.header('x-forwarded-proto'), trustedProxies)?.toLowerCase()
  if (told === 'http' || told === 'https') return told
  return isProxied(request) ? undefined : request.scheme
}

/** Of a header that each proxy adds to on the right: what the outermost of those that are trusted says. */
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

/** Written out, because a spread would lose what an adapter keeps behind getters and methods of a class. */
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
