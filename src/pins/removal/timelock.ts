import { instantOf } from '../../domain/date-time.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Plan } from '../../domain/plan.ts'

const LONGEST_YEARS = 100

/** Decides when records expire. */
export class Timelock {
  /**
   * Returns the expiry that a request sets, in ms since the epoch. Returns null if the request sets no expiry.
   * @throws HoldfastError `INVALID_TIMELOCK` unless the expiry is a date-time within the next 100 years;
   * `TIMELOCK_NOT_ALLOWED` if the plan does not allow timelocks
   */
  decide(timelock: string | Date | undefined, plan: Plan, now: number): number | null {
    const given = typeof timelock === 'string' ? timelock.trim() : timelock
    if (given === undefined || given === '') return null
    const instant = instantOf(given)
    if (instant === null) throw invalid('must be an RFC 3339 date-time such as 2030-01-31T12:00:00Z')
    if (instant <= now) throw invalid('is in the past')
    if (instant > yearsAfter(now, LONGEST_YEARS)) throw invalid(`is over ${LONGEST_YEARS} years away`)
    if (!plan.timelock) {
      throw new HoldfastError('TIMELOCK_NOT_ALLOWED', `timelock is not part of the plan ${plan.name}`)
    }
    return instant
  }

  hasPassed(expiresAt: number | null, now: number): boolean {
    return expiresAt !== null && expiresAt <= now
  }
}

function invalid(reason: string): HoldfastError {
  return new HoldfastError('INVALID_TIMELOCK', `timelock ${reason}`)
}

function yearsAfter(now: number, years: number): number {
  const date = new Date(now)
  return date.setUTCFullYear(date.getUTCFullYear() + years)
}
