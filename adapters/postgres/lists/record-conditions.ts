import type { NameMatch, RecordFilter, RecordSearch } from '../../../src/catalogue/records.ts'
import { folded, foldedNameWord, metaWord, nameWord, partWords } from '../../../src/domain/search-words.ts'
import type { SqlParam } from '../database/sql.ts'
import { live } from './record-rows.ts'

export type Searching = RecordFilter & { search: RecordSearch }

const NEWEST_FIRST = 'created_at DESC, id DESC'
/** SQL condition of a partial index. Few records are not pinned. */
export const NOT_PINNED = "status <> 'pinned'"

/** SQL conditions, of which those of one visibility are also conditions of partial indexes. */
const OF_VISIBILITY = {
  public: 'owner = 0',
  private: 'owner <> 0',
  disputed: 'owner <> 0 AND EXISTS (SELECT 1 FROM disputes WHERE record_id = records.id)',
}

export class Conditions {
  readonly params: SqlParam[]
  readonly #conditions: string[] = []

  constructor(params: SqlParam[] = []) {
    this.params = params
  }

  /** Returns conditions for another part of the same statement. They share the parameters. */
  rest(): Conditions {
    return new Conditions(this.params)
  }

  /** @param text an SQL condition with `?` in place of the parameter */
  add(text: string, param: SqlParam): void {
    this.#conditions.push(text.replaceAll('?', this.param(param)))
  }

  is(text: string): void {
    this.#conditions.push(text)
  }

  param(param: SqlParam): string {
    return `$${this.params.push(param)}`
  }

  get where(): string {
    return this.#conditions.join(' AND ')
  }
}

/** Records in a list, and their order. A cursor is the place of a record in this order. */
export interface SqlOrder {
  by: string
  /**
   * The same order, which no index has. PostgreSQL takes a rare word for more common than it is. With an index, it could
   * read the list to the end.
   */
  bySorting: string
  /** An order by the columns of the index that has the names. Equal times are in the order of commits. */
  byNames: string
  /** SQL of a cursor as text. */
  cursor: string
  /** Adds the condition that a record is behind the cursor. */
  startAfter: (conditions: Conditions, cursor: string) => void
}

/**
 * Returns the order of the list. A search is in the order of commits, unless it has bounds of time: an index then has
 * its first record.
 */
export function orderOf(search: RecordSearch | undefined): SqlOrder {
  const isOldestFirst = search?.oldestFirst === true
  const isBehind = isOldestFirst ? '>' : '<'
  if (search === undefined || isBounded(search)) {
    return {
      by: isOldestFirst ? 'created_at, id' : NEWEST_FIRST,
      bySorting: isOldestFirst ? 'created_at + 0, id' : 'created_at + 0 DESC, id DESC',
      byNames: isOldestFirst ? 'created_at + 0, seq' : 'created_at + 0 DESC, seq DESC',
      cursor: "created_at || ' ' || id",
      startAfter: (conditions, cursor) => {
        const [, createdAt, id] = /^(-?\d{1,16}) (.+)$/.exec(cursor) ?? []
        if (createdAt === undefined || id === undefined) return
        const [time, last] = [conditions.param(Number(createdAt)), conditions.param(id)]
        conditions.is(`(created_at, id) ${isBehind} (${time}, ${last})`)
      },
    }
  }
  return {
    by: isOldestFirst ? 'seq' : 'seq DESC',
    bySorting: isOldestFirst ? 'seq + 0' : 'seq + 0 DESC',
    byNames: isOldestFirst ? 'seq' : 'seq DESC',
    cursor: 'seq::text',
    startAfter: (conditions, cursor) => {
      if (/^\d{1,16}$/.test(cursor)) conditions.add(`seq ${isBehind} ?`, Number(cursor))
    },
  }
}

export function isBounded({ before, after }: RecordSearch): boolean {
  return before !== null || after !== null
}

/** Returns whether counters of the account know how many records match, apart from the few that are not pinned. */
export function isOfStates({ multihash, search }: Searching): boolean {
  const { names, meta, types, statuses, visibility, multihashes } = search
  const hasMore = visibility !== null || [names, Object.keys(meta), types, multihashes].some(({ length }) => length > 0)
  return multihash === null && !hasMore && (statuses.length === 0 || statuses.includes('pinned'))
}

export function isOfText({ search: { names, meta } }: Searching): boolean {
  return names.length > 0 || Object.keys(meta).length > 0
}

/** Returns whether an index has all that the search compares. */
export function isOfNames({ multihash, search: { meta, multihashes } }: Searching): boolean {
  return multihash === null && multihashes.length === 0 && Object.keys(meta).length === 0
}

/** Returns a search that ignores the case of names. */
export function inAnyCase(filter: Searching): Searching {
  const inAnyCase = { exact: 'iexact', iexact: 'iexact', partial: 'ipartial', ipartial: 'ipartial' } as const
  const names = filter.search.names.map(({ text, match }) => ({ text, match: inAnyCase[match] }))
  return { ...filter, search: { ...filter.search, names } }
}

/** Returns the conditions that an index of the list's order checks. */
export function conditionsOf({ accountId, multihash, hasExpiration, now, search }: RecordFilter): Conditions {
  const conditions = new Conditions()
  conditions.add('account_id = ?', accountId)
  if (multihash !== null) conditions.add('multihash = ?', multihash)
  if (hasExpiration) conditions.is('expires_at IS NOT NULL')
  conditions.is(live(conditions.param(now)))
  if (search !== undefined) addBounds(conditions, search)
  return conditions
}

/** @param test `IS TRUE` for conditions that no index checks */
export function addBounds(conditions: Conditions, { before, after }: RecordSearch, test: 'IS TRUE' | '' = ''): void {
  if (before !== null) conditions.add(`(created_at < ?) ${test}`, before)
  if (after !== null) conditions.add(`(created_at > ?) ${test}`, after)
}

/**
 * Translates a search into SQL. The word index narrows the rows, and further conditions check the rest.
 *
 * @param isCommon true if many records may match. PostgreSQL then reads the list in order up to the limit, instead of
 * sorting all matches.
 */
export function searchConditions(list: number, filter: Searching, isCommon = false): Conditions {
  const conditions = conditionsOf(filter)
  addSearch(conditions, { list, filter, isCommon })
  return conditions
}

/** Adds what {@link conditionsOf} leaves out. */
export function addSearch(
  conditions: Conditions,
  { list, filter, isCommon }: { list: number; filter: Searching; isCommon: boolean },
): void {
  const { names, meta, types, statuses, visibility, multihashes } = filter.search
  const words: string[] = Object.entries(meta).map(([key, value]) => metaWord(list, key, value))
  // In the order of the list, an index has the names.
  if (!isCommon) words.push(...names.flatMap(({ text, match }) => wordsOfMatch(list, text, match)))
  for (const { text, match } of names) addName(conditions, text, match)
  if (words.length > 0) conditions.add(isCommon ? '(words @> ?) IS TRUE' : 'words @> ?', words)
  if (types.length > 0) conditions.add('type = ANY(?)', types)
  if (statuses.length > 0) {
    conditions.add('status = ANY(?)', statuses)
    if (!statuses.includes('pinned')) conditions.is(NOT_PINNED)
  }
  if (visibility !== null) conditions.is(OF_VISIBILITY[visibility])
  if (multihashes.length > 0) conditions.add('multihash = ANY(?::bytea[])', multihashes)
}

function wordsOfMatch(list: number, text: string, match: NameMatch): string[] {
  if (match === 'exact') return [nameWord(list, text)]
  return match === 'iexact' ? [foldedNameWord(list, text)] : partWords(list, text)
}

function addName(conditions: Conditions, text: string, match: NameMatch): void {
  if (match === 'exact') conditions.add('name = ?', text)
  else if (match === 'partial') conditions.add('strpos(name, ?) > 0', text)
  else if (match === 'iexact') conditions.add('folded_name = ?', folded(text))
  else conditions.add('strpos(folded_name, ?) > 0', folded(text))
}
