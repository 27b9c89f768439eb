import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** Largest body that a proof covers, in bytes. A larger one is streamed. */
export const MOST_COVERED_BYTES = 1024 * 1024
/** Longest accepted proof, in characters. */
const LONGEST = 4_096

/** The part of a message that its proof covers. */
export interface Covered {
  /** Names of the headers that the message has, lower case. */
  readonly names: readonly string[]
  /** Digest of the start line and of the named headers. */
  readonly head: string
  /** Digest of the body; null for a body that is streamed. */
  readonly body: string | null
}

type Header = (name: string) => string | undefined

/**
 * Returns the digests that a proof of a message contains.
 *
 * @param line the start line, such as method and target
 */
export function covered(line: string, names: readonly string[], header: Header, body: Uint8Array | null): Covered {
  return { names, head: headDigest(line, names, header), body: body === null ? null : digest(body) }
}

/** Checks that a message has the start line and the headers that its proof covers. */
export function hasHead({ names, head }: Covered, line: string, header: Header): boolean {
  return headDigest(line, names, header) === head
}

/** Checks that a message has the body that its proof covers. A streamed body always has. */
export function hasBody({ body }: Covered, given: Uint8Array | null): boolean {
  return body === null || (given !== null && digest(given) === body)
}

/**
 * Returns a statement and its HMAC, for a header.
 *
 * @param purpose a text without a line feed at its start; a proof for one purpose is none for another
 */
export function sealStatement(secret: Uint8Array, purpose: string, statement: object): string {
  const text = Buffer.from(JSON.stringify(statement)).toString('base64url')
  return `${text}.${macOf(secret, `holdfast 2 ${purpose}\n${text}`)}`
}

/** Returns the statement in a header; null if no node of the fleet sealed it for this purpose. */
export function openStatement<T>(secret: Uint8Array, purpose: string, header: string): T | null {
  const [text = '', mac = ''] = header.length > LONGEST ? [] : header.split('.')
  if (!isSame(mac, macOf(secret, `holdfast 2 ${purpose}\n${text}`))) return null
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as T
}

/**
 * Returns the sender of a request that version 0.2.0 sealed; null if no node sealed it. That version covers neither
 * credential nor body, and its proofs can be replayed, so such a request is always refused.
 */
export function senderOfVersion1(secret: Uint8Array, line: string, header: string): string | null {
  const [text = '', mac = ''] = header.length > LONGEST ? [] : header.split('.')
  if (!isSame(mac, macOf(secret, `${line}\n${text}`))) return null
  return String(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')).node)
}

/** Returns the proof of an answer that version 0.2.0 accepts. */
export function answerOfVersion1(secret: Uint8Array, sealed: string, status: number): string {
  return macOf(secret, `\n${status}\n${sealed}`)
}

/** Counts an empty header as absent, because proxies drop empty headers. */
function headDigest(line: string, names: readonly string[], header: Header): string {
  return digest(Buffer.from(JSON.stringify([line, ...names.map(name => [name, header(name) || null])])))
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url')
}

function macOf(secret: Uint8Array, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url')
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
