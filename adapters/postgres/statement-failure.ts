import { HoldfastError } from '../../src/domain/errors.ts'

/** SQLSTATE: serialization_failure and deadlock_detected, of which nothing has happened. */
const TO_REPEAT = new Set(['40001', '40P01'])
/** SQLSTATE unique_violation: run again, a rule finds the row that another transaction has committed meanwhile. */
const MET_ANOTHER = '23505'
/** Classes and codes of SQLSTATE that say nothing of what was asked, only that it cannot be done now. */
const NOT_NOW = /^(08|53|57|58)|^(25006|25P03|55P03)$/
/** SQLSTATE with which a server ends a connection, so that what it was doing may be done or not. */
const ENDS_CONNECTION = /^(08|57P|25P03)/

/**
 * What `pg` has thrown as its cause, whether the server has told it or could not be asked. All else that comes out of a
 * transaction is of whoever runs it, and passed on as it is.
 */
export class StatementFailure extends Error {
  readonly #sqlState: string | null

  constructor(cause: unknown) {
    super('a statement failed', { cause })
    const isTold = typeof cause === 'object' && cause !== null && 'code' in cause && 'severity' in cause
    this.#sqlState = isTold && typeof cause.code === 'string' ? cause.code : null
  }

  /** Null if it is not the server that has told of it. */
  get sqlState(): string | null {
    return this.#sqlState
  }
}

/** Whether the same transaction may succeed when it is run again, and has done nothing so far. */
export function isToRepeat(error: unknown): boolean {
  if (!(error instanceof StatementFailure)) return false
  return error.sqlState === MET_ANOTHER || TO_REPEAT.has(error.sqlState ?? '')
}

/** Whether the connection is gone, and with it the answer. */
export function isLost(error: unknown): boolean {
  return error instanceof StatementFailure && (error.sqlState === null || ENDS_CONNECTION.test(error.sqlState))
}

/** Nobody knows whether it has happened: it is looked up, and never taken for refused. */
export function outcomeUnknown(cause: unknown): HoldfastError {
  return new HoldfastError('OUTCOME_UNKNOWN', 'the connection to the catalogue was lost before it answered', { cause })
}

/** What a caller is told of a statement that failed; other errors are told as they are. */
export function shownFailure(error: unknown): unknown {
  if (!(error instanceof StatementFailure)) return error
  const { sqlState, cause } = error
  if (sqlState === null || NOT_NOW.test(sqlState) || TO_REPEAT.has(sqlState)) {
    return new HoldfastError('UNAVAILABLE', 'the catalogue cannot be reached now', { cause })
  }
  return new HoldfastError('INTERNAL_ERROR', 'the catalogue has failed', { cause })
}
