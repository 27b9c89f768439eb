import { HoldfastError } from '../../src/domain/errors.ts'
import { copied, wholeUpTo } from '../../src/domain/sources.ts'
import type { ApiHandler, ApiRequest, ApiResponse, BodyStream, Forwarded } from '../../src/http/api-messages.ts'
import { errorResponse } from '../../src/http/error-response.ts'
import {
  answerOfVersion1,
  type CoverableBody,
  type Covered,
  covered,
  hasBody,
  hasHead,
  isFramed,
  MOST_COVERED_BYTES,
  openStatement,
  sealStatement,
  senderOfVersion1,
} from './node-proof.ts'
import { openedFrames, type StreamSeal, sealedFrames } from './sealed-frames.ts'
import { UsedNonces } from './used-nonces.ts'

/** Request header with the proof of the forwarding node. */
export const FORWARDED_HEADER = 'holdfast-passed-on'
/** Response header with the proof of the answering node. */
export const ANSWERED_HEADER = 'holdfast-answered'
/** Maximum age of a proof in ms. The sender's clock may also be ahead of this node's clock by the same time. */
const GOOD_FOR_MS = 60_000
const REQUEST = 'request'
const ANSWER = 'answer'

/** The parts of a forwarded request that its proof covers. */
interface Asked {
  method: string
  /** Path and query. */
  target: string
  /** Headers that are sent and that the proof covers, by lower-case name. */
  headers: Readonly<Record<string, string>>
  /** Empty if the request has none. */
  body: CoverableBody
  /** In ms since the epoch. */
  now: number
  /** Unique to this request. */
  nonce: string
  /** Id of the receiving node's current run. */
  run: string
}

interface Statement extends Forwarded, Covered, Pick<Asked, 'nonce' | 'run'> {
  at: number
  /** True if the sender reads an answer in sealed frames. A node of version 0.3.0 does not. */
  readsFrames?: true
}

export function sealForwarded(secret: Uint8Array, passed: Forwarded, asked: Asked): string {
  const { method, target, headers, body, now, nonce, run } = asked
  const parts = covered(lineOf(method, target), headers, body)
  return sealStatement(secret, REQUEST, {
    ...passed,
    ...parts,
    nonce,
    run,
    at: now,
    readsFrames: true,
  } satisfies Statement)
}

/** Seals the body of a forwarded request, which is a stream. @param sealed its proof */
export function sealForwardedStream(
  secret: Uint8Array,
  sealed: string,
  body: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  return sealedFrames(body, sealOf(secret, REQUEST, sealed))
}

export function targetOf({ path, query }: Pick<ApiRequest, 'path' | 'query'>): string {
  return query === '' ? path : `${path}?${query}`
}

interface Answered {
  status: number
  headers: Readonly<Record<string, string>>
  body: AsyncIterable<Uint8Array>
}

/**
 * Verifies an answer, and drops the headers that the proof does not cover. If the proof covers the body, reads and
 * checks the whole body first.
 * @param sealed the value of the {@link FORWARDED_HEADER} in the request
 * @returns null if another server answered, or if the answer was altered in transit
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
  if (isFramed(parts)) {
    const altered = () => new HoldfastError('OUTCOME_UNKNOWN', 'the answer of the responsible node was altered')
    const body = openedFrames(answer.body, sealOf(secret, ANSWER, headers[ANSWERED_HEADER] ?? ''), altered)
    return { ...answer, headers: { ...proved, ...lengthOf(parts) }, body }
  }
  if (parts.body === null) return { ...answer, headers: proved }
  const body = await wholeUpTo(answer.body, MOST_COVERED_BYTES)
  return hasBody(parts, body) ? { ...answer, headers: proved, body: only(body ?? new Uint8Array()) } : null
}

export interface Receiver {
  self: string
  /** New at each start of the node. A proof for an earlier run is refused. */
  run: string
  secret: Uint8Array
  now: () => number
}

/**
 * Passes verified requests to `handler` as their clients sent them. Requests that no node forwarded go to `otherwise`.
 * A request with an invalid or reused proof gets the status 503.
 */
export function receiveForwarded(receiver: Receiver, handler: ApiHandler, otherwise: ApiHandler): ApiHandler {
  const { secret } = receiver
  const nonces = new UsedNonces(GOOD_FOR_MS)
  return async request => {
    const header = request.header(FORWARDED_HEADER)
    if (header === undefined) return otherwise(request)
    const statement = openStatement<Statement>(secret, REQUEST, header)
    if (statement === null) return ofVersion1(receiver, header, request) ?? otherwise(request)
    const problem = problemOf(receiver, nonces, statement, request)
    const seal = sealOf(secret, REQUEST, header)
    const taken = problem === null ? await withBody(request, statement, seal) : refused(problem)
    const answer = 'status' in taken ? taken : await handler(taken)
    return proved(secret, { sealed: header, answer, readsFrames: statement.readsFrames === true })
  }
}

/** Returns the reason to refuse. An accepted request uses up its nonce. */
function problemOf({ self, run, now }: Receiver, nonces: UsedNonces, statement: Statement, request: ApiRequest) {
  const { node, to, at, nonce } = statement
  if (to !== self)
    return `the node ${self} received a request from the node ${node} for the node ${to}: check the url of ${to}`
  if (statement.run !== run) return `the node ${self} has restarted since the last check by the node ${node}: try again`
  if (Math.abs(now() - at) > GOOD_FOR_MS) return `the clocks of the nodes ${node} and ${self} are too far apart`
  if (!hasHead(statement, lineOf(request.method, targetOf(request)), name => request.header(name))) {
    return `a request from the node ${node} was altered: check the proxies between it and the node ${self}`
  }
  if (!nonces.take(nonce, at, now())) return `a request from the node ${node} arrived twice or too late`
  return null
}

/**
 * Returns the request with the details of its client. If the proof has the digest of another body, returns a refusal.
 * A stream fails at the first altered frame. Only a node of version 0.3.0 streams a body without frames: the run in
 * the proof tells later nodes that this node reads them.
 */
async function withBody(
  request: ApiRequest,
  statement: Statement,
  seal: StreamSeal,
): Promise<ApiRequest | ApiResponse> {
  const problem = `a request from the node ${statement.node} has an altered body`
  if (isFramed(statement)) {
    const altered = () => new HoldfastError('UNAVAILABLE', problem)
    return asForwarded(request, statement, { body: openedFrames(request.body, seal, altered) })
  }
  if (statement.body === null) return asForwarded(request, statement, { body: request.body })
  try {
    const body = (await request.arrived?.()) ?? (await wholeUpTo(copied(request.body), MOST_COVERED_BYTES))
    if (body === null || !hasBody(statement, body)) return refused(problem)
    return asForwarded(request, statement, { body: only(body), arrived: async () => body })
  } catch (error) {
    return errorResponse(error, statement.requestId)
  }
}

/** Copies the request field by field: a spread would drop the getters and methods of an adapter's class. */
function asForwarded(
  request: ApiRequest,
  statement: Statement,
  body: Pick<ApiRequest, 'body' | 'arrived'>,
): ApiRequest {
  const { node, to, requestId, client, scheme, host, isDecided } = statement
  const known = new Set(statement.names)
  const own: Record<string, string | undefined> = { host: host ?? undefined, ...lengthOf(statement) }
  return {
    method: request.method,
    path: request.path,
    query: request.query,
    header: name => (Object.hasOwn(own, name) ? own[name] : known.has(name) ? request.header(name) : undefined),
    ...body,
    signal: request.signal,
    scheme: scheme ?? undefined,
    remoteAddress: client ?? undefined,
    forwarded: { node, to, requestId, client, scheme, host, ...(isDecided && { isDecided }) },
  }
}

/**
 * Refuses a request from a node of version 0.2.0, in the form that this version accepts. Returns null for all other
 * requests.
 */
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

interface Proved {
  /** Proof of the request. */
  sealed: string
  answer: ApiResponse
  readsFrames: boolean
}

function proved(secret: Uint8Array, { sealed, answer, readsFrames }: Proved): ApiResponse {
  const whole = wholeBody(answer.body)
  const stream = whole === null && readsFrames ? streamOf(answer.body) : null
  const length = typeof answer.body === 'string' && whole !== null ? { 'content-length': String(whole.length) } : {}
  const headers: Record<string, string> = { ...answer.headers, ...length }
  const parts = covered(`${answer.status}`, headers, stream === null ? whole : 'frames')
  const proof = sealStatement(secret, answerPurpose(sealed), parts)
  if (stream === null) return { ...answer, headers: { ...headers, [ANSWERED_HEADER]: proof } }
  const { 'content-length': _length, ...framed } = headers
  const body = sealedFrames(stream, sealOf(secret, ANSWER, proof))
  return { ...answer, headers: { ...framed, [ANSWERED_HEADER]: proof }, body }
}

/** Returns null for a body whose digest a proof does not have. */
function wholeBody(body: ApiResponse['body']): Uint8Array | null {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body === null ? new Uint8Array() : body
  return bytes instanceof Uint8Array && bytes.length <= MOST_COVERED_BYTES ? bytes : null
}

function streamOf(body: ApiResponse['body']): BodyStream {
  if (typeof body === 'string') return only(Buffer.from(body))
  return body === null || body instanceof Uint8Array ? only(body ?? new Uint8Array()) : body
}

/** @param proof the proof of the message that has the stream */
function sealOf(secret: Uint8Array, kind: typeof REQUEST | typeof ANSWER, proof: string): StreamSeal {
  return { secret, purpose: `${kind} ${proof}` }
}

/** Returns the header `content-length` that a message in sealed frames would have without them. */
function lengthOf({ length }: Covered): Readonly<Record<string, string>> {
  return length == null ? {} : { 'content-length': length }
}

/** Includes the sealed request, which is unique, so that the proof is valid for no other answer. */
function answerPurpose(sealed: string): string {
  return `${ANSWER} ${sealed}`
}

function lineOf(method: string, target: string): string {
  return `${method} ${target}`
}

async function* only(body: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  if (body.length > 0) yield body
}
