const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']
const STEP = 1_000
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const MONTH = 30 * DAY
const YEAR = 365 * DAY

const counts = new Intl.NumberFormat('en')
const instants = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const AGES: ReadonlyArray<[from: number, unit: Intl.RelativeTimeFormatUnit]> = [
  [YEAR, 'year'],
  [MONTH, 'month'],
  [DAY, 'day'],
  [HOUR, 'hour'],
  [MINUTE, 'minute'],
]

/** Formats bytes in decimal units: `1.5 GB`. */
export function shownBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= STEP && unit < UNITS.length - 1) {
    value /= STEP
    unit++
  }
  // 999.96 must not become 1000.0.
  const shown = unit > 0 && value < 10 ? value.toFixed(1) : Math.round(value).toString()
  return `${shown} ${UNITS[unit]}`
}

/** Formats `1,234,567`. */
export function shownCount(count: number): string {
  return counts.format(count)
}

/** Formats `1 file`, `2 files`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${shownCount(count)} ${count === 1 ? one : many}`
}

/** Formats an instant in local time. */
export function formatInstant(iso: string): string {
  return instants.format(new Date(iso))
}

/** Formats `5 minutes ago`, `in 3 days`. */
export function formatAge(iso: string, now: number): string {
  const distance = Date.parse(iso) - now
  const [size, unit] = AGES.find(([from]) => Math.abs(distance) >= from) ?? [0, 'minute']
  return size === 0
    ? distance > 1_000
      ? 'in a moment'
      : 'just now'
    : relative.format(Math.trunc(distance / size), unit)
}

/** Formats remaining seconds: `40 s`, `3 min`, `2 h`. */
export function formatDuration(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}

/** Shortens a CID to its beginning and end, which people compare. */
export function shortCid(cid: string): string {
  return cid.length <= 20 ? cid : `${cid.slice(0, 10)}…${cid.slice(-6)}`
}

/** Reads the value of an `<input type="datetime-local">`; undefined if it is empty. */
export function instantIn(local: string): Date | undefined {
  return local === '' ? undefined : new Date(local)
}

/** Formats an instant as the value of an `<input type="datetime-local">`, to the minute. */
export function localInput(instant: Date): string {
  const shifted = new Date(instant.getTime() - instant.getTimezoneOffset() * MINUTE)
  return shifted.toISOString().slice(0, 16)
}
