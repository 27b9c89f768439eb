import { type ErrorCode, HoldfastError } from '../../src/domain/errors.ts'

/** The body of an answer. What is in it is the server's word, to be looked at before it is used. */
export type JsonObject = Readonly<Record<string, unknown>>

/** An answer that came to no end. */
export function brokenOff(cause: unknown): HoldfastError {
  return new HoldfastError('UNAVAILABLE', `the answer broke off${cause === undefined ? '' : `: ${wordsOf(cause)}`}`, {
    cause,
  })
}

/** No answer at all. */
export function unreachable({ origin, pathname }: URL, cause: unknown): HoldfastError {
  const message =
    codeOf(cause) === 'ECONNREFUSED'
      ? `nothing listens at ${origin}: is the server running?`
      : `no answer from ${origin}${pathname}: ${wordsOf(cause)}`
  return new HoldfastError('UNAVAILABLE', message, { cause })
}

/** What the server said, with its code, and its status and further fields as details. */
export function refusalOf({ status, headers, type }: Response, text: string): HoldfastError {
  // Browsers do not tell where to.
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    const where = headers.get('location') ?? 'another place'
    const details = { status: status === 0 ? 301 : status }
    return new HoldfastError('UNAVAILABLE', `the server redirects to ${where}: is the base that of the API?`, {
      details,
    })
  }
  let body: JsonObject = {}
  try {
    body = parseObject(text)
  } catch {
    // Something between us and the server has answered.
  }
  const { message = body.error ?? `no reason given (${status})`, code } = body
  const details: Record<string, string | number> = { status }
  for (const [name, value] of Object.entries(body)) {
    const isDetail = typeof value === 'string' || typeof value === 'number'
    if (isDetail && !['error', 'message', 'code'].includes(name)) details[name] = value
  }
  // A newer server may have codes that this version does not know.
  return new HoldfastError(typeof code === 'string' ? (code as ErrorCode) : 'UNAVAILABLE', String(message), { details })
}

/** @throws HoldfastError `UNAVAILABLE` for what is no JSON object or array */
export function parseObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as JsonObject
  } catch {
    // Told below, as what it means.
  }
  throw new HoldfastError('UNAVAILABLE', 'the answer is not JSON: is the base that of the API?')
}

/** Fetch wraps what happened in an error that says nothing. */
function wordsOf(error: unknown): string {
  const { cause, message = '' } = (error ?? {}) as Partial<Error>
  return cause instanceof Error ? wordsOf(cause) : message || codeOf(error)
}

function codeOf(error: unknown): string {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown }
  if (typeof code === 'string') return code
  return cause === undefined ? '' : codeOf(cause)
}
