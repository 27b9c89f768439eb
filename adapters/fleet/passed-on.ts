import { HoldfastError } from '../../src/domain/errors.ts'
import { copied, wholeUpTo } from '../../src/domain/sources.ts'
import type { ApiHandler, ApiRequest, ApiResponse, PassedOn } from '../../src/http/api-messages.ts'
import { errorResponse } from '../../src/http/error-response.ts'
import {
  answerOfVersion1,
  type Covered,
  covered,
  hasBody,
  hasHead,
  MOST_COVERED_BYTES,
  openStatement,
  sealStatement,
  senderOfVersion1,
} from './node-proof.ts'
import { UsedNonces } from './used-nonces.ts'

/** Request header: the proof of the node that passes the request on. */
export const PASSED_ON_HEADER = 'holdfast-passed-on'
/** Response header: the proof of the node that answers. */
export const ANSWERED_HEADER = 'holdfast-answered'
/** How old a proof may be, and how far ahead of this node's clock, in milliseconds. */
const GOOD_FOR_MS = 60_000
const REQUEST = 'request'

/** A request that is to be passed on, as its proof covers it. */
interface Asked {
  method: string
  /** Path and query. */
  target: string
  /** All headers that are sent and matter, by lower-case name. */
  headers: Readonly<Record<string, string>>
  /** The whole body, null for one that is streamed. Empty if there is none. */
  body: Uint8Array | null
  /** When it is asked, in milliseconds since the epoch. */
  now: number
  /** Random, for this request alone. */
  nonce: string
  /** The run of the node that is asked. */
  run: string
}

interface Statement extends PassedOn, Covered, Pick<Asked, 'nonce' | 'run'> {
  at: number
}

/** Returns the {@link PASSED_ON_HEADER} of a request. @param secret of the fleet */
export function sealPassedOn(secret: Uint8Array, passed: PassedOn, asked: Asked): string {
  const { method, target, headers, body, now, nonce, run } = asked
  const parts = covered(lineOf(method, target), Object.keys(headers), name => headers[name], body)
  return sealStatement(secret, REQUEST, { ...passed, ...parts, nonce, run, at: now } satisfies Statement)
}

/** Returns the target of a request: path and query. */
export function targetOf({ path, query }: Pick<ApiRequest, 'path' | 'query'>): string {
  return query === '' ? path : `${path}?${query}`
}

/** An answer as it came. */
interface Answered {
  status: number
  headers: Readonly<Record<string, string>>
  body: AsyncIterable<Uint8Array>
}

/**
 * Returns an answer with the headers that its node has proved. A small body is read and compared first.
 *
 * @param sealed the {@link PASSED_ON_HEADER} of its request
 * @returns null if another than the asked node has answered, or if the answer was changed on its way
 */
export async function openAnswer<T extends Answered>(
  secret: Uint8Array,
  sealed: string,
  answer: T,
): Promise<(T & { headers: Record<string, string> }) | null> {
  const { status, headers } = answer
  const parts = openStatement<Covered>(secret, answerPurpose(sealed), headers[ANSWERED_HEADER] ?? '')
  if (parts === null || !hasHead(parts, `${status}`, name => headers[name])) return null
  const proved = Object.fromEntries(
    parts.names.flatMap(name => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  )
  if (parts.body === null) return { ...answer, headers: proved }
  const body = await wholeUpTo(answer.body, MOST_COVERED_BYTES)
  return hasBody(parts, body) ? { ...answer, headers: proved, body: only(body ?? new Uint8Array()) } : null
}

/** A node of a fleet, as the receiver of what others pass on. */
export interface Receiver {
  /** Its id. */
  self: string
  /** Random, made anew with each start: a proof for an earlier run is refused. */
  run: string
  /** Of the fleet. */
  secret: Uint8Array
  /** Milliseconds since the epoch. */
  now: () => number
}

/**
 * Returns a handler that gives `handler` the requests that other nodes pass on, as their clients sent them, and `otherwise`
 * all others. A request whose proof does not fit it, or was used before, is answered 503: it is not a client's.
 */
export function takingPassedOn(receiver: Receiver, handler: ApiHandler, otherwise: ApiHandler): ApiHandler {
  const { secret } = receiver
  const nonces = new UsedNonces(GOOD_FOR_MS)
  return async request => {
    const header = request.header(PASSED_ON_HEADER)
    if (header === undefined) return otherwise(request)
    const said = openStatement<Statement>(secret, REQUEST, header)
    if (said === null) return ofVersion1(receiver, header, request) ?? otherwise(request)
    const problem = problemOf(receiver, nonces, said, request)
    const taken = problem === null ? await withBody(request, said) : refused(problem)
    const answer = 'status' in taken ? taken : await handler(taken)
    return proved(secret, header, answer)
  }
}

/** Returns why a request is refused; null if it is to be done. Takes its nonce. */
function problemOf({ self, run, now }: Receiver, nonces: UsedNonces, said: Statement, request: ApiRequest) {
  const { node, to, at, nonce } = said
  if (to !== self)
    return `what the node ${node} asks the node ${to} comes to the node ${self}: look at the url of ${to}`
  if (said.run !== run) return `the node ${self} has started anew since the node ${node} last looked: ask again`
  if (Math.abs(now() - at) > GOOD_FOR_MS) return `the clocks of the nodes ${node} and ${self} are too far apart`
  if (!hasHead(said, lineOf(request.method, targetOf(request)), name => request.header(name))) {
    return `what the node ${node} asks came changed: look at what is between it and the node ${self}`
  }
  if (!nonces.take(nonce, at, now())) return `what the node ${node} asks came twice, or too late`
  return null
}

/** Returns a request of which the body was compared, if its proof covers that; or the answer that refuses it. */
async function withBody(request: ApiRequest, said: Statement): Promise<ApiRequest | ApiResponse> {
  if (said.body === null) return asPassedOn(request, said, { body: request.body })
  try {
    const body = (await request.arrived?.()) ?? (await wholeUpTo(copied(request.body), MOST_COVERED_BYTES))
    if (body === null || !hasBody(said, body)) return refused(`what the node ${said.node} asks came with another body`)
    return asPassedOn(request, said, { body: only(body), arrived: async () => body })
  } catch (error) {
    return errorResponse(error, said.requestId)
  }
}

/** Written out, because a spread would lose what an adapter keeps behind getters and methods of a class. */
function asPassedOn(
  request: ApiRequest,
  { names, head: _head, body: _body, at: _at, nonce: _nonce, run: _run, ...passedOn }: Statement,
  body: Pick<ApiRequest, 'body' | 'arrived'>,
): ApiRequest {
  const host = passedOn.host ?? undefined
  const known = new Set(names)
  return {
    method: request.method,
    path: request.path,
    query: request.query,
    header: name => (name === 'host' ? host : known.has(name) ? request.header(name) : undefined),
    ...body,
    signal: request.signal,
    scheme: passedOn.scheme ?? undefined,
    remoteAddress: passedOn.client ?? undefined,
    passedOn,
  }
}

/** Returns the refusal of a request that a node of version 0.2.0 has passed on, as that one understands it. */
function ofVersion1({ secret, self }: Receiver, header: string, request: ApiRequest): ApiResponse | null {
  const node = senderOfVersion1(secret, lineOf(request.method, targetOf(request)), header)
  if (node === null) return null
  const answer = refused(`the node ${node} runs an older version than the node ${self}: update it`)
  return {
    ...answer,
    headers: { ...answer.headers, [ANSWERED_HEADER]: answerOfVersion1(secret, header, answer.status) },
  }
}

function refused(problem: string): ApiResponse {
  return errorResponse(new HoldfastError('UNAVAILABLE', problem), '')
}

/** Adds the {@link ANSWERED_HEADER}. */
function proved(secret: Uint8Array, sealed: string, answer: ApiResponse): ApiResponse {
  const body = coverableBody(answer.body)
  const length = typeof answer.body === 'string' && body !== null ? { 'content-length': String(body.length) } : {}
  const headers: Record<string, string> = { ...answer.headers, ...length }
  const parts = covered(`${answer.status}`, Object.keys(headers), name => headers[name], body)
  const proof = sealStatement(secret, answerPurpose(sealed), parts)
  return { ...answer, headers: { ...headers, [ANSWERED_HEADER]: proof } }
}

function coverableBody(body: ApiResponse['body']): Uint8Array | null {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body === null ? new Uint8Array() : body
  return bytes instanceof Uint8Array && bytes.length <= MOST_COVERED_BYTES ? bytes : null
}

/** A sealed request is unlike any other, so the proof of its answer is none of another's. */
function answerPurpose(sealed: string): string {
  return `answer ${sealed}`
}

function lineOf(method: string, target: string): string {
  return `${method} ${target}`
}

async function* only(body: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  if (body.length > 0) yield body
}
