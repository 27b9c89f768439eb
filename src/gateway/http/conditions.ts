import { HoldfastError } from '../../domain/errors.ts'
import type { ApiRequest } from '../../http/api-messages.ts'

/** State of the content to compare the conditions of a request with. */
export interface Validators {
  /** With quotes, and `W/` for a weak one. */
  etag: string
  /** In ms since the epoch. Null if the content has no modification date. */
  lastModified?: number | null
}

/**
 * Checks the conditions of a GET or HEAD request, in the order of RFC 9110, section 13.2.2. Returns true if the answer is
 * 304.
 *
 * @throws HoldfastError `PRECONDITION_FAILED`
 */
export function isUnchanged({ header }: Pick<ApiRequest, 'header'>, { etag, lastModified }: Validators): boolean {
  const wanted = header('if-match')
  const unmodifiedSince = secondsOf(header('if-unmodified-since'))
  const modified = lastModified == null ? null : Math.floor(lastModified / 1000)
  if (wanted !== undefined) {
    if (!lists(wanted, etag, isSameStrongly)) throw failed('if-match', 'does not list the ETag of this content')
  } else if (modified !== null && unmodifiedSince !== null && modified > unmodifiedSince) {
    throw failed('if-unmodified-since', 'is before the modification of this content')
  }
  const known = header('if-none-match')
  if (known !== undefined) return lists(known, etag, isSameWeakly)
  const modifiedSince = secondsOf(header('if-modified-since'))
  return modified !== null && modifiedSince !== null && modified <= modifiedSince
}

/** Checks an `If-Range` header, which a range request needs to match. Without the header, the range applies. */
export function rangeApplies({ header }: Pick<ApiRequest, 'header'>, { etag, lastModified }: Validators): boolean {
  const wanted = header('if-range')?.trim()
  if (wanted === undefined || isSameStrongly(wanted, etag)) return true
  return lastModified != null && secondsOf(wanted) === Math.floor(lastModified / 1000)
}

function lists(header: string, etag: string, isSame: (a: string, b: string) => boolean): boolean {
  if (header.trim() === '*') return true
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? []
  return tags.some(tag => isSame(tag, etag))
}

function isSameStrongly(a: string, b: string): boolean {
  return a === b && !a.startsWith('W/')
}

function isSameWeakly(a: string, b: string): boolean {
  return a.replace(/^W\//, '') === b.replace(/^W\//, '')
}

/** The three forms of an HTTP date begin with the day of the week. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/

/** Parses an HTTP date. Returns null without a valid date, whose condition is then ignored. */
function secondsOf(date: string | undefined): number | null {
  const ms = date !== undefined && HTTP_DATE.test(date) ? Date.parse(date) : Number.NaN
  return Number.isNaN(ms) ? null : ms / 1000
}

function failed(field: string, reason: string): HoldfastError {
  return new HoldfastError('PRECONDITION_FAILED', `${field} ${reason}`)
}
