import { areDescriptorsSpent } from '../domain/descriptors-spent.ts'
import { isDiskFull } from '../domain/disk-full.ts'
import { type ErrorCode, HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { jsonResponse } from './json-response.ts'
import type { ApiResponse } from './types.ts'

/** The status of an exchange whose client went away: it exists in logs, never on the wire. */
export const CLIENT_GONE = 499

/** The one table from error codes to HTTP statuses. */
export const ERROR_STATUS: Readonly<Record<ErrorCode, number>> = {
  INVALID_API_KEY: 401,
  missing_scope: 403,
  SESSION_REQUIRED: 403,
  OWNER_REQUIRED: 403,
  account_disabled: 403,
  IP_NOT_ALLOWED: 403,
  RATE_LIMIT: 429,
  '2fa_required': 400,
  '2fa_invalid': 400,

  TIMELOCK_NOT_ALLOWED: 403,
  CLUSTER_NOT_ALLOWED: 403,
  QUOTA_EXCEEDED: 403,
  NOT_OFFERED: 403,
  FILE_TOO_LARGE: 413,
  DIRECTORY_TOO_LARGE: 413,

  INVALID_CID: 400,
  INVALID_PATH: 400,
  INVALID_TIMELOCK: 400,
  VALIDATION: 400,
  UNSUPPORTED_MEDIA_TYPE: 415,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TOO_LARGE: 413,
  RANGE_NOT_SATISFIABLE: 416,
  NOT_ACCEPTABLE: 406,
  PRECONDITION_FAILED: 412,

  CID_NOT_FOUND: 404,
  PIN_NOT_FOUND: 404,
  NOT_FOUND: 404,
  CONFLICT: 409,
  GONE: 410,
  LEGAL_REASONS: 451,

  ABORTED: CLIENT_GONE,
  BLOCK_DAMAGED: 500,
  REDIRECTS_INVALID: 500,
  DATA_DIR_IN_USE: 500,
  BACKUP_UNUSABLE: 500,
  DATA_DIR_UNUSABLE: 500,
  DATA_DIR_NEWER: 500,
  CONFIG_INVALID: 500,
  UNAVAILABLE: 503,
  STORAGE_FULL: 507,
  INTERNAL_ERROR: 500,
}

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
  503: 'Service Unavailable',
  507: 'Insufficient Storage',
}

/** Codes about the node itself, for its operator alone: messages may name local paths, or what is wrong with a disk. */
const INTERNAL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'DATA_DIR_IN_USE',
  'BACKUP_UNUSABLE',
  'DATA_DIR_UNUSABLE',
  'DATA_DIR_NEWER',
  'CONFIG_INVALID',
  'BLOCK_DAMAGED',
  'INTERNAL_ERROR',
])

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
  if (isHoldfastError(error) && !INTERNAL.has(error.code)) return error
  return new HoldfastError('INTERNAL_ERROR', 'the request failed inside the node', { cause: error })
}

/** The JSON answer for an error: the contract's body, the error's details, and the headers that belong to its code. */
export function errorResponse(thrown: unknown, requestId: string): ApiResponse {
  const error = publicError(thrown)
  const status = ERROR_STATUS[error.code]
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
