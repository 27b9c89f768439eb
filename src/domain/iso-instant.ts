const DAY_MS = 86_400_000

/** Cache of the last date, because most instants of a list are on the same day. */
let day = Number.NaN
let date = ''

/**
 * Formats an instant like `Date.toISOString`, but five times faster.
 * @param ms an integer, in ms since the epoch
 * @throws RangeError if `ms` is not a valid instant
 */
export function isoInstant(ms: number): string {
  const asked = Math.floor(ms / DAY_MS)
  if (asked !== day) {
    date = new Date(ms).toISOString().slice(0, -'00:00:00.000Z'.length)
    day = asked
  }
  const time = ms - asked * DAY_MS
  const seconds = Math.floor(time / 1_000)
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  return `${date}${two(hours)}:${two(minutes % 60)}:${two(seconds % 60)}.${three(time % 1_000)}Z`
}

export function iso(ms: number): string
export function iso(ms: number | null): string | null
export function iso(ms: number | null): string | null {
  return ms === null ? null : isoInstant(ms)
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}

function three(value: number): string {
  return value < 100 ? `0${two(value)}` : String(value)
}
