import { isOverlongName } from '../../catalogue/overlong-name.ts'
import { LONGEST_NAME, type NameMatch, type RecordFilter, type RecordSearch } from '../../catalogue/records.ts'
import { instantOf } from '../../domain/date-time.ts'
import { invalid } from '../../domain/errors.ts'
import type { PinStatus } from '../../domain/pin-status.ts'
import { VISIBILITY_FILTERS } from '../../domain/visibility.ts'
import { parseCid } from '../../ipld/cid.ts'
import { checkedMeta } from '../pin-names.ts'
import type { ListQuery, PinType } from '../pin-types.ts'
import { SORTED_ORDERS } from './sorted-list.ts'

export const NAME_MATCHES: readonly NameMatch[] = ['exact', 'iexact', 'partial', 'ipartial']
export const PIN_TYPES: readonly PinType[] = ['file', 'directory', 'pin']
const PIN_STATUSES: readonly PinStatus[] = ['queued', 'pinning', 'pinned', 'failed']

export const SORTS = ['newest', 'oldest', ...SORTED_ORDERS] as const

const MOST_CIDS = 10

/**
 * Returns the filter for a list of records.
 *
 * @throws HoldfastError `VALIDATION`, which names the field; `INVALID_CID`
 */
export function recordFilterOf(accountId: string, query: ListQuery, now: number): RecordFilter {
  const multihash = query.cid === undefined ? null : parseCid(query.cid).multihash.bytes
  return { accountId, multihash, hasExpiration: query.hasExpiration === true, now, search: searchOf(query) }
}

/** Returns undefined if the query has no search filters. @throws HoldfastError `VALIDATION`, which names the field */
export function searchOf(query: ListQuery): RecordSearch | undefined {
  const { sort = 'newest', match = 'exact' } = query
  oneOf('sort', sort, SORTS)
  const search: RecordSearch = {
    names: [...namesOf('q', query.q, 'ipartial'), ...namesOf('name', query.name, oneOf('match', match, NAME_MATCHES))],
    meta: checkedMeta(query.meta),
    types: someOf('type', query.type, PIN_TYPES),
    statuses: someOf('status', query.status, PIN_STATUSES),
    visibility: someOf('visibility', query.visibility, VISIBILITY_FILTERS)[0] ?? null,
    multihashes: contentsOf(query.cids),
    before: instant('before', query.before),
    after: instant('after', query.after),
    oldestFirst: sort === 'oldest',
  }
  const isAsked = Object.values(search).some(value => (isList(value) ? value.length > 0 : isGiven(value)))
  return isAsked ? search : undefined
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

function isGiven(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value !== null && value !== false
}

function namesOf(field: string, text: string | undefined, match: NameMatch): RecordSearch['names'] {
  if (text === undefined || text === '') return []
  if (typeof text === 'string' && !isOverlongName(text)) return [{ text, match }]
  throw invalid(`${field} must be text of at most ${LONGEST_NAME} characters`)
}

function contentsOf(cids: readonly string[] = []): Uint8Array[] {
  if (cids.length > MOST_CIDS) throw invalid(`cids must be at most ${MOST_CIDS}`)
  return cids.map(cid => parseCid(cid).multihash.bytes)
}

function someOf<T extends string>(field: string, given: T | readonly T[] | undefined, known: readonly T[]): T[] {
  const list = given === undefined ? [] : typeof given === 'string' ? [given] : [...given]
  return [...new Set(list.map(value => oneOf(field, value, known)))]
}

function oneOf<T extends string>(field: string, given: T, known: readonly T[]): T {
  if (known.includes(given)) return given
  throw invalid(`${field} must be one of ${known.join(', ')}`)
}

function instant(field: string, given: Date | string | number | undefined): number | null {
  if (given === undefined) return null
  const at = typeof given === 'number' ? given : instantOf(given)
  if (at !== null && Number.isFinite(at)) return at
  throw invalid(`${field} must be an RFC 3339 date-time such as 2030-01-31T12:00:00Z`)
}
