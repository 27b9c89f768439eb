import { HoldfastError } from '../domain/errors.ts'
import type { Plan } from '../domain/plan.ts'

/** RFC 3339 section 5.6, with the offset optional. */
const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))?$/
const LONGEST_YEARS = 100

/** Decides about expiries; knows no clock. */
export class Timelock {
  /**
   * The instant that a request's `timelock` means, in milliseconds; null for none (absent or empty).
   *
   * @throws HoldfastError `INVALID_TIMELOCK` unless it is a date-time to come within 100 years,
   * `TIMELOCK_NOT_ALLOWED` if the plan has no timelocks.
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

  /** Whether something that expires at `expiresAt` is over. */
  hasPassed(expiresAt: number | null, now: number): boolean {
    return expiresAt !== null && expiresAt <= now
  }
}

function invalid(reason: string): HoldfastError {
  return new HoldfastError('INVALID_TIMELOCK', `timelock ${reason}`)
}

/** The instant that a date-time as RFC 3339 has it, or a `Date`, means, in milliseconds; null for what is none. */
export function instantOf(given: unknown): number | null {
  if (typeof given === 'string') return parseInstant(given)
  const instant = given instanceof Date ? given.getTime() : Number.NaN
  return Number.isNaN(instant) ? null : instant
}

function parseInstant(text: string): number | null {
  const match = DATE_TIME.exec(text)
  if (match === null) return null
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number)
  const millisecond = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  const local = Date.UTC(year, month - 1, day, hour, minute, second, millisecond)
  // Date.UTC carries 30 February over to March; what does not come back as it went in is no date.
  const back = new Date(local)
  const same = back.getUTCMonth() === month - 1 && back.getUTCDate() === day && hour < 24 && minute < 60 && second < 60
  const [offsetHours, offsetMinutes] = [Number(match[9] ?? 0), Number(match[10] ?? 0)]
  if (!same || offsetHours > 23 || offsetMinutes > 59) return null
  const offset = (offsetHours * 60 + offsetMinutes) * 60_000
  return match[8] === '-' ? local + offset : local - offset
}

function yearsAfter(now: number, years: number): number {
  const date = new Date(now)
  return date.setUTCFullYear(date.getUTCFullYear() + years)
}
