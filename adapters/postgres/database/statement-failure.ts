import { outageError } from '../../../src/catalogue/outages.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'

/** The SQLSTATEs serialization_failure and deadlock_detected. The server has rolled back the transaction. */
const RETRYABLE = new Set(['40001', '40P01'])
/** SQLSTATE unique_violation. A retry sees the row that another transaction has committed. */
const UNIQUE_VIOLATION = '23505'
/** SQLSTATEs of temporary failures, which the statement did not cause. */
const TEMPORARY = /^(08|53|57|58)|^(25006|25P03|55P03)$/
/** SQLSTATE read_only_sql_transaction. A standby, or a server whose operator has stopped the writes. */
const READ_ONLY = '25006'
/** SQLSTATE not_null_violation: `UNLESS_ENDED` gives a hold no node if the node was given up. */
const NOT_NULL = '23502'
/** SQLSTATEs that end the connection. A running commit may have succeeded or failed. */
const ENDS_CONNECTION = /^(08|57P|25P03)/

/**
 * An error of `pg`, from the server or from a broken connection. Other errors in a transaction reach the caller
 * unchanged.
 */
export class StatementFailure extends Error {
  readonly #sqlState: string | null

  constructor(cause: unknown) {
    super('a statement failed', { cause })
    const isFromServer = typeof cause === 'object' && cause !== null && 'code' in cause && 'severity' in cause
    this.#sqlState = isFromServer && typeof cause.code === 'string' ? cause.code : null
  }

  /** Null if the error does not come from the server. */
  get sqlState(): string | null {
    return this.#sqlState
  }
}

/** Returns whether the transaction was rolled back and a retry may succeed. */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof StatementFailure)) return false
  return error.sqlState === UNIQUE_VIOLATION || RETRYABLE.has(error.sqlState ?? '')
}

export function isConnectionLost(error: unknown): boolean {
  return error instanceof StatementFailure && (error.sqlState === null || ENDS_CONNECTION.test(error.sqlState))
}

/** Returns whether the connection was lost, or the database accepts no writes. */
export function isOutageFailure(error: unknown): boolean {
  return isConnectionLost(error) || (error instanceof StatementFailure && error.sqlState === READ_ONLY)
}

/**
 * Returns the error for a commit whose outcome is unknown. The caller must find out the outcome, and must not report a
 * refusal.
 */
export function outcomeUnknown(cause: unknown): HoldfastError {
  return outageError('OUTCOME_UNKNOWN', 'the connection to the catalogue was lost before it answered', { cause })
}

/** Returns the error for a database without a connection, or without writes. */
export function databaseAway(cause: unknown): HoldfastError {
  return outageError('UNAVAILABLE', 'the catalogue database cannot be reached', { cause })
}

/** Converts a failed statement to a HoldfastError that is safe to show to clients. */
export function safeError(error: unknown): unknown {
  if (!(error instanceof StatementFailure)) return error
  const { sqlState, cause } = error
  if (isOutageFailure(error)) return databaseAway(cause)
  if (TEMPORARY.test(sqlState ?? '') || RETRYABLE.has(sqlState ?? '')) {
    return new HoldfastError('UNAVAILABLE', 'the catalogue database cannot be reached', { cause })
  }
  if (sqlState === NOT_NULL && cause instanceof Error && 'column' in cause && cause.column === 'node') {
    return new HoldfastError('UNAVAILABLE', 'this node was given up: it takes no content', { cause })
  }
  return new HoldfastError('INTERNAL_ERROR', 'the catalogue database failed', { cause })
}
