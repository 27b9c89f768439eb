import { createHmac, timingSafeEqual } from 'node:crypto'
import { HoldfastError } from '../domain/errors.ts'
import { errorResponse } from './error-response.ts'
import type { ApiHandler, ApiRequest, PassedOn } from './types.ts'

/** By which a node says it, so that only nodes of its fleet can. */
export const PASSED_ON_HEADER = 'holdfast-passed-on'
/** By which the node that was asked shows that it is the one that answers. */
export const ANSWERED_HEADER = 'holdfast-answered'
/** How long what a node says is good for, in milliseconds: clocks may be apart. */
const GOOD_FOR_MS = 60_000
const LONGEST = 2_048

/** What a proof is for. */
interface Asked {
  method: string
  /** Path and query. */
  target: string
  /** When it is asked, in milliseconds since the epoch. */
  now: number
}

/** The header for a request. @param secret of the fleet */
export function sealPassedOn(secret: Uint8Array, passed: PassedOn, asked: Asked): string {
  const said = Buffer.from(JSON.stringify({ ...passed, at: asked.now })).toString('base64url')
  return `${said}.${proofOf(secret, said, asked)}`
}

/** Whether an answer is from the node that a request was sealed for. @param header its {@link ANSWERED_HEADER} */
export function isAnswered(secret: Uint8Array, sealed: string, status: number, header: string | undefined): boolean {
  return header !== undefined && isSame(header, answerTo(secret, sealed, status))
}

/** What a request is for, as both nodes see it. */
export function targetOf({ path, query }: Pick<ApiRequest, 'path' | 'query'>): string {
  return query === '' ? path : `${path}?${query}`
}

/** A node of a fleet, as which it takes what others pass on. */
export interface Receiver {
  /** Its id. */
  self: string
  /** Of the fleet. */
  secret: Uint8Array
  /** Milliseconds since the epoch. */
  now: () => number
}

/**
 * A handler that is given what other nodes pass on as its client sent it to them; everything else comes by `otherwise`.
 * What is for another node, or is from another time, is answered 503: it is neither this node's nor a client's.
 */
export function takingPassedOn(receiver: Receiver, handler: ApiHandler, otherwise: ApiHandler): ApiHandler {
  const { secret } = receiver
  return async request => {
    const header = request.header(PASSED_ON_HEADER)
    const passedOn = header === undefined ? null : openPassedOn(receiver, header, request)
    if (header === undefined || passedOn === null) return otherwise(request)
    const { passed, problem } = passedOn
    const refused = problem === null ? null : errorResponse(new HoldfastError('UNAVAILABLE', problem), '')
    const answer = refused ?? (await handler(asPassedOn(request, passed)))
    return { ...answer, headers: { ...answer.headers, [ANSWERED_HEADER]: answerTo(secret, header, answer.status) } }
  }
}

/** What a node of the fleet says, and why it is not to be done here. */
interface Opened {
  passed: PassedOn
  problem: string | null
}

/** Null for what no node of the fleet has sealed for that request. */
function openPassedOn({ secret, self, now }: Receiver, header: string, request: ApiRequest): Opened | null {
  const [said = '', proof = ''] = header.length > LONGEST ? [] : header.split('.')
  if (!isSame(proof, proofOf(secret, said, { method: request.method, target: targetOf(request) }))) return null
  const { at, ...passed } = JSON.parse(Buffer.from(said, 'base64url').toString('utf8')) as PassedOn & { at: number }
  return { passed, problem: problemOf(passed, Math.abs(now() - at), self) }
}

function problemOf({ node, to }: PassedOn, apartMs: number, self: string): string | null {
  if (to !== self)
    return `what the node ${node} asks the node ${to} comes to the node ${self}: look at the url of ${to}`
  if (apartMs > GOOD_FOR_MS) return `the clocks of the nodes ${node} and ${self} are too far apart`
  return null
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

function proofOf(secret: Uint8Array, said: string, { method, target }: Omit<Asked, 'now'>): string {
  return createHmac('sha256', secret).update(`${method} ${target}\n${said}`).digest('base64url')
}

/** A request has no line feed before its method, so no proof of a request is one of an answer. */
function answerTo(secret: Uint8Array, sealed: string, status: number): string {
  return createHmac('sha256', secret).update(`\n${status}\n${sealed}`).digest('base64url')
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
