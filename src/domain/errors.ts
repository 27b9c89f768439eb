import { keptText } from './text.ts'

/** Stable codes of errors. `src/http/error-codes.ts` maps each code to an HTTP status. */
export type ErrorCode =
  // access
  | 'INVALID_API_KEY'
  | 'missing_scope'
  | 'SESSION_REQUIRED'
  | 'OWNER_REQUIRED'
  | 'account_disabled'
  | 'IP_NOT_ALLOWED'
  | 'proof_required'
  | 'RATE_LIMIT'
  | '2fa_required'
  | '2fa_invalid'
  // plan and quota
  | 'TIMELOCK_NOT_ALLOWED'
  | 'CLUSTER_NOT_ALLOWED'
  | 'QUOTA_EXCEEDED'
  | 'NOT_OFFERED'
  | 'FILE_TOO_LARGE'
  | 'DIRECTORY_TOO_LARGE'
  // input
  | 'INVALID_CID'
  | 'INVALID_PATH'
  | 'INVALID_TIMELOCK'
  | 'VALIDATION'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TOO_LARGE'
  | 'RANGE_NOT_SATISFIABLE'
  | 'NOT_ACCEPTABLE'
  | 'NOT_IMPLEMENTED'
  | 'PRECONDITION_FAILED'
  // lookup
  | 'CID_NOT_FOUND'
  | 'PIN_NOT_FOUND'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'GONE'
  | 'LEGAL_REASONS'
  // the node itself
  | 'ABORTED'
  | 'BLOCK_DAMAGED'
  | 'REDIRECTS_INVALID'
  | 'DATA_DIR_IN_USE'
  | 'BACKUP_UNUSABLE'
  | 'DATA_DIR_UNUSABLE'
  | 'DATA_DIR_NEWER'
  | 'CONFIG_INVALID'
  | 'UNAVAILABLE'
  | 'OUTCOME_UNKNOWN'
  | 'STORAGE_FULL'
  | 'INTERNAL_ERROR'

/** Options for the constructor of {@link HoldfastError}. */
export interface HoldfastErrorOptions {
  /** The underlying error, for logs. Clients never see it. */
  cause?: unknown
  /** Additional fields of the error body that the client receives, such as `required` of `missing_scope`. */
  details?: Readonly<Record<string, string | number>>
}

/**
 * The only error class of Holdfast. `message` is always safe to show and to store, even if it quotes input. Unsafe
 * details belong in `cause`.
 */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError'
  readonly code: ErrorCode
  /** Additional fields of the error body that the client receives, such as `required` of `missing_scope`. */
  readonly details: Readonly<Record<string, string | number>>

  constructor(code: ErrorCode, message: string, options: HoldfastErrorOptions = {}) {
    super(keptText(message), options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details ?? {}
  }
}

/** Creates the error for invalid input. The message names the field. */
export function invalid(message: string): HoldfastError {
  return new HoldfastError('VALIDATION', message)
}

/**
 * Returns whether a value is a {@link HoldfastError}, and has the given code, if any.
 *
 * @example if (isHoldfastError(error, 'NOT_FOUND')) console.log('no such pin')
 */
export function isHoldfastError(error: unknown, code?: ErrorCode): error is HoldfastError {
  return error instanceof HoldfastError && (code === undefined || error.code === code)
}
