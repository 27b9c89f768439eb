import { HoldfastError } from '../domain/errors.ts'
import type { ApiRequest, ApiResponse } from './api-messages.ts'
import { quoted } from './form-headers.ts'

/** Limit for authenticated requests. */
export const MAX_JSON_BYTES = 1024 * 1024
/** Limit for requests to public routes. */
export const MAX_PUBLIC_JSON_BYTES = 16 * 1024
/** Maximum per object. */
const MAX_KEYS = 1_000
/** Maximum nesting depth of objects and arrays. */
const MAX_LEVELS = 32
/** Maximum in all objects and arrays together. Parsing takes over a microsecond per value. */
const MAX_VALUES = 10_000

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d])

/**
 * Reads the body as JSON. Returns undefined for an empty body, and for `null` and `[]`, which some clients send
 * instead.
 *
 * @throws HoldfastError `UNSUPPORTED_MEDIA_TYPE` for a body that is not JSON; `REQUEST_TOO_LARGE`; `VALIDATION` if the
 * body is malformed or exceeds the limits of keys, levels or values
 */
export async function readJsonBody(request: ApiRequest, maxBytes: number = MAX_JSON_BYTES): Promise<unknown> {
  const declared = Number(request.header('content-length') ?? 0)
  if (declared > maxBytes) throw tooLarge(maxBytes)
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body) {
    if (length === 0 && chunk.length > 0) requireJson(request.header('content-type'))
    length += chunk.length
    if (length > maxBytes) throw tooLarge(maxBytes)
    chunks.push(Buffer.from(chunk))
  }
  if (length === 0) return undefined
  const body = parseJson(Buffer.concat(chunks), 'the body')
  return body === null || (Array.isArray(body) && body.length === 0) ? undefined : body
}

/**
 * Parses JSON from a client, after a check of the limits of keys, levels and values.
 *
 * @param field name of the input, for error messages
 * @throws HoldfastError `VALIDATION`
 */
export function parseJson(bytes: Uint8Array, field: string): unknown {
  checkShape(bytes, field)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new HoldfastError('VALIDATION', `${field} is not valid JSON`, { cause })
  }
}

function checkShape(bytes: Uint8Array, field: string): void {
  /** Number of keys in each open object, outermost first. 0 for an array. */
  const keys: number[] = []
  let values = 0
  let isText = false
  /** Position of the last string in the text, without its quotes. */
  let textAt = 0
  let textEnd = 0
  /** Position of the last key of the outermost object. */
  let keyAt: [from: number, to: number] | null = null
  const tooMuch = (what: string): HoldfastError => {
    const name = keyAt === null ? field : `field ${quoted(Buffer.from(bytes.subarray(...keyAt)).toString())}`
    return new HoldfastError('VALIDATION', `${name} must not have more than ${what}`)
  }
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === QUOTE) {
      isText = !isText
      if (isText) textAt = at + 1
      else textEnd = at
    } else if (isText) at += byte === BACKSLASH ? 1 : 0
    else if (byte === COMMA) values++
    else if (byte === COLON) {
      const count = (keys.pop() ?? 0) + 1
      if (keys.length === 0) keyAt = count > MAX_KEYS ? null : [textAt, textEnd]
      keys.push(count)
      if (count > MAX_KEYS) throw tooMuch(`${MAX_KEYS} keys in one object`)
    } else if (OPENING.has(byte)) {
      values++
      if (keys.push(0) > MAX_LEVELS) throw tooMuch(`${MAX_LEVELS} levels`)
    } else if (CLOSING.has(byte)) keys.pop()
    if (values > MAX_VALUES) throw tooMuch(`${MAX_VALUES} values`)
  }
}

function requireJson(contentType: string | undefined): void {
  if (contentType === undefined || /^\s*application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType)) return
  throw new HoldfastError('UNSUPPORTED_MEDIA_TYPE', 'Content-Type must be application/json')
}

function tooLarge(maxBytes: number): HoldfastError {
  return new HoldfastError('REQUEST_TOO_LARGE', `the body is larger than ${maxBytes} bytes`)
}

export function jsonResponse(
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'x-content-type-options': 'nosniff', ...headers },
    body: JSON.stringify(body),
  }
}
