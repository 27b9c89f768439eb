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

/** Formats a size in decimal units, such as `1.5 GB`. */
export function shownBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= STEP && unit < UNITS.length - 1) {
    value /= STEP
    unit++
  }
  // No decimal from 10 on. Otherwise 999.96 would be shown as 1000.0.
  const shown = unit > 0 && value < 10 ? value.toFixed(1) : Math.round(value).toString()
  return `${shown} ${UNITS[unit]}`
}

/** Formats as `1,234,567`. */
export function shownCount(count: number): string {
  return counts.format(count)
}

/** Formats as `1 file` or `2 files`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${shownCount(count)} ${count === 1 ? one : many}`
}

export function formatInstant(iso: string): string {
  return instants.format(new Date(iso))
}

/** Formats as `5 minutes ago` or `in 3 days`. */
export function formatAge(iso: string, now: number): string {
  const distance = Date.parse(iso) - now
  const [size, unit] = AGES.find(([from]) => Math.abs(distance) >= from) ?? [0, 'minute']
  return size === 0
    ? distance > 1_000
      ? 'in a moment'
      : 'just now'
    : relative.format(Math.trunc(distance / size), unit)
}

/** Formats as `40 s`, `3 min` or `2 h`. */
export function formatDuration(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}

export function shortCid(cid: string): string {
  return cid.length <= 20 ? cid : `${cid.slice(0, 10)}…${cid.slice(-6)}`
}

/** Parses the value of an `<input type="datetime-local">`. */
export function instantIn(local: string): Date | undefined {
  return local === '' ? undefined : new Date(local)
}

/** Formats a time to the minute, for an `<input type="datetime-local">`. */
export function localInput(instant: Date): string {
  const shifted = new Date(instant.getTime() - instant.getTimezoneOffset() * MINUTE)
  return shifted.toISOString().slice(0, 16)
}
