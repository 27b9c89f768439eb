/** RFC 3339, section 5.6, but with an optional offset. */
const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))?$/

/**
 * Returns the instant of an RFC 3339 date-time or of a Date, in ms since the epoch. A date-time without an offset is in
 * UTC.
 */
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
  // Date.UTC turns 30 February into a day in March, so check that the date converts back to itself.
  const back = new Date(local)
  const same = back.getUTCMonth() === month - 1 && back.getUTCDate() === day && hour < 24 && minute < 60 && second < 60
  const [offsetHours, offsetMinutes] = [Number(match[9] ?? 0), Number(match[10] ?? 0)]
  if (!same || offsetHours > 23 || offsetMinutes > 59) return null
  const offset = (offsetHours * 60 + offsetMinutes) * 60_000
  return match[8] === '-' ? local + offset : local - offset
}
