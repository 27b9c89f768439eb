import { HoldfastError } from '../../src/domain/errors.ts'

/** SQLSTATE serialization_failure and deadlock_detected: the server has rolled back the transaction. */
const RETRYABLE = new Set(['40001', '40P01'])
/** SQLSTATE unique_violation: after a retry, the rule sees the row that another transaction has committed. */
const UNIQUE_VIOLATION = '23505'
/** SQLSTATE classes and codes of temporary failures, which say nothing about the statement. */
const TEMPORARY = /^(08|53|57|58)|^(25006|25P03|55P03)$/
/** SQLSTATE classes and codes that end the connection: a running commit may have succeeded or failed. */
const ENDS_CONNECTION = /^(08|57P|25P03)/

/**
 * A failure of `pg`, as reported by the server or by a broken connection. Other errors in a transaction come from its
 * caller and pass unchanged.
 */
export class StatementFailure extends Error {
  readonly #sqlState: string | null

  constructor(cause: unknown) {
    super('a statement failed', { cause })
    const isFromServer = typeof cause === 'object' && cause !== null && 'code' in cause && 'severity' in cause
    this.#sqlState = isFromServer && typeof cause.code === 'string' ? cause.code : null
  }

  /** Null if the error is not from the server. */
  get sqlState(): string | null {
    return this.#sqlState
  }
}

/** Returns true if nothing has happened yet and a retry of the transaction may succeed. */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof StatementFailure)) return false
  return error.sqlState === UNIQUE_VIOLATION || RETRYABLE.has(error.sqlState ?? '')
}

/** Returns true if the connection is closed, so that no answer can come. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof StatementFailure && (error.sqlState === null || ENDS_CONNECTION.test(error.sqlState))
}

/** The outcome of a commit is unknown. The caller must find it out, and must not report a refusal. */
export function outcomeUnknown(cause: unknown): HoldfastError {
  return new HoldfastError('OUTCOME_UNKNOWN', 'the connection to the catalogue was lost before it answered', { cause })
}

/** Converts a failed statement to a HoldfastError that is safe to show. Other errors pass unchanged. */
export function safeError(error: unknown): unknown {
  if (!(error instanceof StatementFailure)) return error
  const { sqlState, cause } = error
  if (sqlState === null || TEMPORARY.test(sqlState) || RETRYABLE.has(sqlState)) {
    return new HoldfastError('UNAVAILABLE', 'the catalogue database cannot be reached', { cause })
  }
  return new HoldfastError('INTERNAL_ERROR', 'the catalogue database failed', { cause })
}
