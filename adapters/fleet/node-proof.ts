import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** Maximum size in bytes of a body whose digest a proof has. A larger body is streamed. */
export const MOST_COVERED_BYTES = 1024 * 1024
/** Stands for the digest of a body that is streamed in sealed frames. No digest has this length. */
const FRAMED = 'frames'
/** Maximum length of a proof, in characters. */
const LONGEST = 4_096

export interface Covered {
  /** Names of headers, in lower case. */
  readonly names: readonly string[]
  /** Digest of the start line and the named headers. */
  readonly head: string
  /** Digest of the body, or that sealed frames have it. Null if a node of version 0.3.0 streams the body. */
  readonly body: string | null
  /** The `content-length` that the body had before it was sealed into frames. Null if it had none. */
  readonly length?: string | null
}

/** A body that a proof covers: its bytes, or a stream. */
export type CoverableBody = Uint8Array | 'frames' | null

type Header = (name: string) => string | undefined

/**
 * @param line the start line of the message, for example its method and target
 * @param body null for a stream that an older node reads as it is
 */
export function covered(line: string, headers: Readonly<Record<string, string>>, body: CoverableBody): Covered {
  const { 'content-length': length = null, ...others } = headers
  const named = body === FRAMED ? others : headers
  const names = Object.keys(named)
  const head = headDigest(line, names, name => named[name])
  if (body === FRAMED) return { names, head, body, length }
  return { names, head, body: body === null ? null : digest(body) }
}

export function isFramed({ body }: Covered): boolean {
  return body === FRAMED
}

export function hasHead({ names, head }: Covered, line: string, header: Header): boolean {
  return headDigest(line, names, header) === head
}

/** Returns true if the proof does not cover the body. */
export function hasBody({ body }: Covered, given: Uint8Array | null): boolean {
  return body === null || (given !== null && digest(given) === body)
}

/**
 * @param purpose the use of the proof, without a line feed. A proof for one purpose is invalid for every other purpose.
 */
export function sealStatement(secret: Uint8Array, purpose: string, statement: object): string {
  const text = Buffer.from(JSON.stringify(statement)).toString('base64url')
  return `${text}.${macOf(secret, `holdfast 2 ${purpose}\n${text}`)}`
}

/** Returns null if no node of the fleet sealed the statement for this purpose. */
export function openStatement<T>(secret: Uint8Array, purpose: string, header: string): T | null {
  const [text = '', mac = ''] = header.length > LONGEST ? [] : header.split('.')
  if (!isSame(mac, macOf(secret, `holdfast 2 ${purpose}\n${text}`))) return null
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as T
}

/**
 * Returns null if no node of version 0.2.0 sealed the request.
 * The caller must refuse the request: proofs of version 0.2.0 cover neither the credential nor the body, and can be
 * replayed.
 */
export function senderOfVersion1(secret: Uint8Array, line: string, header: string): string | null {
  const [text = '', mac = ''] = header.length > LONGEST ? [] : header.split('.')
  if (!isSame(mac, macOf(secret, `${line}\n${text}`))) return null
  return String(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')).node)
}

/** Returns the form that version 0.2.0 accepts. */
export function answerOfVersion1(secret: Uint8Array, sealed: string, status: number): string {
  return macOf(secret, `\n${status}\n${sealed}`)
}

/** Treats an empty header as absent, because proxies drop empty headers. */
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
