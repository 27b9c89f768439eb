import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ApiHandler, ApiRequest, PassedOn } from './types.ts'

/** By which a node says it, so that only nodes of its fleet can. */
export const PASSED_ON_HEADER = 'holdfast-passed-on'
/** How long what a node says is good for, in milliseconds: clocks may be apart. */
const GOOD_FOR_MS = 60_000
const LONGEST = 2_048

/** The header for a request. @param secret of the fleet; @param now milliseconds since the epoch */
export function sealPassedOn(
  secret: Uint8Array,
  passed: PassedOn,
  request: { method: string; target: string; now: number },
): string {
  const said = Buffer.from(JSON.stringify({ ...passed, at: request.now })).toString('base64url')
  return `${said}.${proofOf(secret, said, request)}`
}

/** Null for a request that no node of the fleet passes on, or that one passed on long ago. */
function openPassedOn(
  secret: Uint8Array,
  header: string | undefined,
  request: { method: string; target: string; now: number },
): PassedOn | null {
  const [said = '', proof = ''] = header === undefined || header.length > LONGEST ? [] : header.split('.')
  const expected = Buffer.from(proofOf(secret, said, request))
  const given = Buffer.from(proof)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
  const { at, ...passed } = JSON.parse(Buffer.from(said, 'base64url').toString('utf8')) as PassedOn & { at: number }
  return Math.abs(request.now - at) <= GOOD_FOR_MS ? passed : null
}

/** What a request is for, as both nodes see it. */
export function targetOf({ path, query }: Pick<ApiRequest, 'path' | 'query'>): string {
  return query === '' ? path : `${path}?${query}`
}

/**
 * A handler that is given what other nodes pass on as its client sent it to them; everything else comes by `otherwise`.
 *
 * @param now milliseconds since the epoch
 */
export function takingPassedOn(
  secret: Uint8Array,
  now: () => number,
  handler: ApiHandler,
  otherwise: ApiHandler,
): ApiHandler {
  return request => {
    const header = request.header(PASSED_ON_HEADER)
    if (header === undefined) return otherwise(request)
    const passedOn = openPassedOn(secret, header, { method: request.method, target: targetOf(request), now: now() })
    return passedOn === null ? otherwise(request) : handler(asPassedOn(request, passedOn))
  }
}

/** Written out, because a spread would lose what an adapter keeps behind getters and methods of a class. */
function asPassedOn(request: ApiRequest, passedOn: PassedOn): ApiRequest {
  const host = passedOn.host ?? undefined
  return {
    method: request.method,
    path: request.path,
    query: request.query,
    header: name => (name === 'host' ? host : request.header(name)),
    body: request.body,
    signal: request.signal,
    scheme: passedOn.scheme ?? undefined,
    remoteAddress: passedOn.client ?? undefined,
    passedOn,
  }
}

function proofOf(secret: Uint8Array, said: string, { method, target }: { method: string; target: string }): string {
  return createHmac('sha256', secret).update(`${method} ${target}\n${said}`).digest('base64url')
}
