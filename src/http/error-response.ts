import { areDescriptorsSpent } from '../domain/descriptors-spent.ts'
import { isDiskFull } from '../domain/disk-full.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { ERROR_TABLE } from './error-codes.ts'
import { jsonResponse } from './json-response.ts'
import type { ApiResponse } from './types.ts'

export const REASON_PHRASES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  429: 'Too Many Requests',
  451: 'Unavailable For Legal Reasons',
  499: 'Client Closed Request',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  507: 'Insufficient Storage',
}

const DEFAULT_RETRY_SECONDS = 5

/**
 * What a client may know of an error: an unknown one becomes `INTERNAL_ERROR`, a full disk `STORAGE_FULL`, spent
 * file descriptors `UNAVAILABLE`.
 */
export function publicError(error: unknown): HoldfastError {
  if (isDiskFull(error)) {
    return new HoldfastError('STORAGE_FULL', 'the node has no space left for new content', { cause: error })
  }
  if (areDescriptorsSpent(error)) {
    return new HoldfastError('UNAVAILABLE', 'the node has too many files and connections open', { cause: error })
  }
  if (isHoldfastError(error) && ERROR_TABLE[error.code].isInternal !== true) return error
  return new HoldfastError('INTERNAL_ERROR', 'the request failed inside the node', { cause: error })
}

/** The JSON answer for an error: the contract's body, the error's details, and the headers that belong to its code. */
export function errorResponse(thrown: unknown, requestId: string): ApiResponse {
  const error = publicError(thrown)
  const status = ERROR_TABLE[error.code].status
  const body = {
    error: REASON_PHRASES[status] ?? 'Error',
    message: error.message,
    code: error.code,
    ...error.details,
    ...(status >= 500 ? { requestId } : {}),
  }
  return jsonResponse(status, body, headersOf(error))
}

function headersOf(error: HoldfastError): Record<string, string> {
  const { allow, limit, remaining, resetTime, retryAfter } = error.details
  switch (error.code) {
    case 'INVALID_API_KEY':
      return { 'www-authenticate': 'Bearer' }
    case 'METHOD_NOT_ALLOWED':
      return allow === undefined ? {} : { allow: String(allow) }
    case 'UNAVAILABLE':
    case 'OUTCOME_UNKNOWN':
      return { 'retry-after': String(retryAfter ?? DEFAULT_RETRY_SECONDS) }
    case 'RATE_LIMIT': {
      const headers: Record<string, string> = {}
      if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter)
      if (limit !== undefined) headers['x-ratelimit-limit'] = String(limit)
      if (remaining !== undefined) headers['x-ratelimit-remaining'] = String(remaining)
      if (resetTime !== undefined) headers['x-ratelimit-reset'] = unixSeconds(Date.parse(String(resetTime)))
      return headers
    }
    default:
      return {}
  }
}

/** Milliseconds since the epoch as the whole second that has begun by then. */
export function unixSeconds(ms: number): string {
  return String(Math.ceil(ms / 1000))
}
