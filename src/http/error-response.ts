import { type DiskTrouble, diskTrouble } from '../domain/disk-trouble.ts'
import { type ErrorCode, HoldfastError, isHoldfastError } from '../domain/errors.ts'
import type { ApiResponse } from './api-messages.ts'
import { ERROR_TABLE } from './error-codes.ts'
import { jsonResponse } from './json-body.ts'

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

const TROUBLES: Readonly<Record<DiskTrouble, [ErrorCode, string]>> = {
  full: ['STORAGE_FULL', 'the node has no space left for new content'],
  short: ['UNAVAILABLE', 'the node has too many files and connections open'],
  failed: ['UNAVAILABLE', 'the disk of the node has failed'],
}

/**
 * Returns the error that a client may see. A disk error becomes `STORAGE_FULL` or `UNAVAILABLE`, any other internal or
 * unknown error `INTERNAL_ERROR`.
 */
export function publicError(error: unknown): HoldfastError {
  const trouble = diskTrouble(error)
  // A known error is more precise than the failed disk that caused it. A full disk or a shortage of descriptors takes
  // precedence over every other error.
  const isPublic = isHoldfastError(error) && ERROR_TABLE[error.code].isInternal !== true
  if (trouble !== null && !(trouble === 'failed' && isHoldfastError(error))) {
    return new HoldfastError(...TROUBLES[trouble], { cause: error })
  }
  if (isPublic) return error
  return new HoldfastError('INTERNAL_ERROR', 'the request failed inside the node', { cause: error })
}

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

export function unixSeconds(ms: number): string {
  return String(Math.ceil(ms / 1000))
}
