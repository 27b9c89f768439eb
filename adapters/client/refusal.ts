import { type ErrorCode, HoldfastError } from '../../src/domain/errors.ts'

/** JSON body of a response, with unchecked fields. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Codes of OpenSSL for an answer that is not TLS. */
const PLAIN_HTTP = ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']

export function brokenOff(cause: unknown): HoldfastError {
  return new HoldfastError('UNAVAILABLE', `the answer broke off${cause === undefined ? '' : `: ${wordsOf(cause)}`}`, {
    cause,
  })
}

export function unreachable({ origin, pathname }: URL, cause: unknown): HoldfastError {
  const code = codeOf(cause)
  const message =
    code === 'ECONNREFUSED'
      ? `nothing listens at ${origin}: is the server running?`
      : PLAIN_HTTP.includes(code)
        ? `the server at ${origin} speaks plain HTTP: use ${origin.replace(/^https/, 'http')}`
        : `no answer from ${origin}${pathname}: ${wordsOf(cause)}`
  return new HoldfastError('UNAVAILABLE', message, { cause })
}

/** Builds an error whose details contain the HTTP status and all other fields of the body. */
export function refusalOf({ status, headers, type }: Response, text: string): HoldfastError {
  // Browsers hide the status and target of a redirect, and only report the type `opaqueredirect`.
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
    // Not JSON, so probably an error page of a proxy.
  }
  const { message, error, code } = body
  const words = [message, error].find(text => typeof text === 'string') ?? unexplained(status)
  const details: Record<string, string | number> = { status }
  for (const [name, value] of Object.entries(body)) {
    const isDetail = typeof value === 'string' || typeof value === 'number'
    // The body of a proxy may have a `status` of its own, such as `fail`.
    if (isDetail && !['error', 'message', 'code', 'status'].includes(name)) details[name] = value
  }
  // A newer server may send codes that this version of the client does not know.
  return new HoldfastError(typeof code === 'string' ? (code as ErrorCode) : 'UNAVAILABLE', words, { details })
}

/** @throws HoldfastError `UNAVAILABLE` if the text is not a JSON object or array */
export function parseObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as JsonObject
  } catch {
    // The error below is clearer than the parser's.
  }
  throw new HoldfastError('UNAVAILABLE', 'the answer is not JSON: check that the base is that of the API')
}

/** Returns the innermost message, because `fetch` wraps the cause in an error with a general message. */
function wordsOf(error: unknown): string {
  const { cause, message = '' } = (error ?? {}) as Partial<Error>
  return cause instanceof Error ? wordsOf(cause) : message || codeOf(error)
}

function codeOf(error: unknown): string {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown }
  if (typeof code === 'string') return code
  return cause === undefined ? '' : codeOf(cause)
}

/** Describes an answer that gives no reason, such as that of a proxy. */
function unexplained(status: number): string {
  return status === 503 ? 'the server is unavailable' : `no reason given (${status})`
}
