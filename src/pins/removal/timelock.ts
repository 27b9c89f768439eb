import { checkTimelock, invalidTimelock } from '../../access/plan-catalogue.ts'
import { instantOf } from '../../domain/date-time.ts'
import type { Plan } from '../../domain/plan.ts'

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
    if (instant === null) throw invalidTimelock('must be an RFC 3339 date-time such as 2030-01-31T12:00:00Z')
    checkTimelock(instant, plan, now)
    return instant
  }

  hasPassed(expiresAt: number | null, now: number): boolean {
    return expiresAt !== null && expiresAt <= now
  }
}
