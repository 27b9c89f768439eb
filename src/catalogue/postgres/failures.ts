import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'

/** SQLSTATE: serialization_failure and deadlock_detected, of which nothing has happened. */
const TO_REPEAT = new Set(['40001', '40P01'])
/** Classes and codes of SQLSTATE that say nothing of what was asked, only that it cannot be done now. */
const NOT_NOW = /^(08|53|57|58)|^(25006|25P03|55P03)$/
/** SQLSTATE with which a server ends a connection, so that what it was doing may be done or not. */
const ENDS_CONNECTION = /^(08|57P|25P03)/

function sqlStateOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error) || !('severity' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

/** Whether the same transaction may succeed when it is run again, and has done nothing so far. */
export function isToRepeat(error: unknown): boolean {
  return TO_REPEAT.has(sqlStateOf(error) ?? '')
}

/** Whether the connection is gone, and with it the answer. */
export function isLost(error: unknown): boolean {
  if (isHoldfastError(error)) return false
  const state = sqlStateOf(error)
  return state === null || ENDS_CONNECTION.test(state)
}

/** Nobody knows whether it has happened: it is looked up, and never taken for refused. */
export function outcomeUnknown(cause: unknown): HoldfastError {
  return new HoldfastError('OUTCOME_UNKNOWN', 'the connection to the catalogue was lost before it answered', { cause })
}

/** What a caller is told of an error of the database; errors of the catalogue itself are told as they are. */
export function told(error: unknown): HoldfastError {
  if (isHoldfastError(error)) return error
  const state = sqlStateOf(error)
  if (state === null || NOT_NOW.test(state) || TO_REPEAT.has(state)) {
    return new HoldfastError('UNAVAILABLE', 'the catalogue cannot be reached now', { cause: error })
  }
  return new HoldfastError('INTERNAL_ERROR', 'the catalogue has failed', { cause: error })
}
