import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** Maximum size in bytes of a body that a proof covers. A larger body is streamed without proof. */
export const MOST_COVERED_BYTES = 1024 * 1024
/** In characters. */
const LONGEST = 4_096

export interface Covered {
  /** Names of headers, in lower case. */
  readonly names: readonly string[]
  /** Digest of the start line and the named headers. */
  readonly head: string
  /** Digest of the body. Null if the body is streamed. */
  readonly body: string | null
}

type Header = (name: string) => string | undefined

/** @param line the start line of the message, for example its method and target */
export function covered(line: string, names: readonly string[], header: Header, body: Uint8Array | null): Covered {
  return { names, head: headDigest(line, names, header), body: body === null ? null : digest(body) }
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
