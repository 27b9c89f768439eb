import { HoldfastError } from '../domain/errors.ts'
import type { ApiRequest } from './types.ts'

/** What a JSON body may have. */
export const MAX_JSON_BYTES = 1024 * 1024

/**
 * The body as JSON; undefined if it is empty, whatever its type says, and for what some clients send in place of
 * nothing: `null` and an empty array.
 *
 * @throws HoldfastError `UNSUPPORTED_MEDIA_TYPE` for a body of another type, `REQUEST_TOO_LARGE`, `VALIDATION` if it
 * is malformed.
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
  const body = parse(Buffer.concat(chunks))
  return body === null || (Array.isArray(body) && body.length === 0) ? undefined : body
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new HoldfastError('VALIDATION', 'the body is not valid JSON', { cause })
  }
}

function requireJson(contentType: string | undefined): void {
  if (contentType === undefined || /^\s*application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType)) return
  throw new HoldfastError('UNSUPPORTED_MEDIA_TYPE', 'Content-Type must be application/json')
}

function tooLarge(maxBytes: number): HoldfastError {
  return new HoldfastError('REQUEST_TOO_LARGE', `the body is larger than ${maxBytes} bytes`)
}
