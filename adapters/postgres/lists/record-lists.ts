import { EXACT_MATCHES, type NumberedPage, type Page, type PageRequest } from '../../../src/catalogue/page.ts'
import type { RecordFilter, RecordRow } from '../../../src/catalogue/records.ts'
import { usageOf } from '../../../src/catalogue/rules/record-rules.ts'
import type { Postgres } from '../database/postgres.ts'
import { runRule } from '../database/postgres-driver.ts'
import type { Sql } from '../database/sql.ts'
import { boundedCount, countedPlace, counter } from './place-counts.ts'
import {
  addBounds,
  addSearch,
  Conditions,
  conditionsOf,
  inAnyCase,
  isBounded,
  isOfNames,
  isOfStates,
  isOfText,
  NOT_PINNED,
  orderOf,
  type Searching,
  searchConditions,
} from './record-conditions.ts'
import { live, RECORD_COLUMNS } from './record-rows.ts'

/** From this offset, a query uses the counts in `record_places` instead of reading each skipped record. */
const FAR = 1_000
const NEVER = Number.MAX_SAFE_INTEGER
/** Number of records at the start of the list that tell whether a word is common. */
const SAMPLE = 200
/** A word is common if one in so many records of the sample has it. */
const COMMON_SHARE = 8

/** The number in the words of an account's records, and how many records it has. */
interface SearchedList {
  list: number
  pins: number
}

/** Number of matches, at most one more than asked for. */
interface Matches {
  count: number
  /** True if reading the list in its order finds a page soon. */
  isCommon: boolean
}

/** The SQL of an order, and the part of it to read. */
interface PageOrder {
  by: string
  limit: number
  offset: number
  /** SQL of a cursor as text. */
  cursor?: string
  /** True to read, for each record of a dispute, what the catalogue said of it. */
  isDisputed?: boolean
}

const DISPUTED = ', (SELECT catalogue FROM disputes WHERE record_id = records.id) AS disputed'

export class RecordLists {
  readonly #sql: Sql

  constructor(database: Postgres) {
    this.#sql = database.reading
  }

  async page(filter: RecordFilter, offset: number, limit: number): Promise<NumberedPage<RecordRow>> {
    const { search } = filter
    if (search !== undefined) return this.#found({ ...filter, search }, offset, limit)
    const total = filter.multihash === null ? await this.#count(filter) : await this.#countAll(conditionsOf(filter))
    return { rows: offset >= total ? [] : await this.#slice(filter, offset, limit), total }
  }

  async walk(filter: RecordFilter, { after, limit }: PageRequest): Promise<Page<RecordRow>> {
    const { search } = filter
    const order = orderOf(search)
    const { conditions, by, isByNames } =
      search === undefined
        ? { conditions: conditionsOf(filter), by: order.by, isByNames: false }
        : await this.#walkedQuestion({ ...filter, search })
    if (after !== null) order.startAfter(conditions, after)
    const isDisputed = search?.visibility === 'disputed'
    const read = { by, limit: limit + 1, offset: 0, cursor: order.cursor, isDisputed }
    const rows = await (isByNames
      ? this.#rowsByNames<RecordRow & { cursor: string }>(conditions, read)
      : this.#rows<RecordRow & { cursor: string }>(conditions, read))
    const next = rows.length > limit ? (rows[limit - 1]?.cursor ?? null) : null
    return { rows: rows.slice(0, limit).map(({ cursor: _, ...row }) => row), next }
  }

  /** Reads the ids of a page from an index alone, and then only the records of that page. */
  #slice(filter: RecordFilter, offset: number, limit: number): Promise<RecordRow[]> {
    const conditions = conditionsOf(filter)
    const { by } = orderOf(undefined)
    const [most, skipped] = [conditions.param(limit), conditions.param(offset)]
    let place = ''
    let from = skipped
    if (offset >= FAR && filter.multihash === null) {
      place = `WITH place AS (${countedPlace(filter, skipped)})`
      from = `${skipped} - COALESCE((SELECT passed FROM place), 0)`
      conditions.is(`(created_at, id) < (COALESCE((SELECT created_at FROM place), ${NEVER}),
        COALESCE((SELECT id FROM place), ''))`)
    }
    return this.#sql.all<RecordRow>(
      `${place} SELECT ${RECORD_COLUMNS} FROM records WHERE id = ANY(ARRAY(
         SELECT id FROM records WHERE ${conditions.where} ORDER BY ${by} LIMIT ${most} OFFSET ${from}))
       ORDER BY ${by}`,
      conditions.params,
    )
  }

  async #found(filter: Searching, offset: number, limit: number): Promise<NumberedPage<RecordRow>> {
    const searched = await this.#listOf(filter.accountId)
    if (isOfText(filter)) return this.#foundByText(searched, filter, offset, limit)
    const question = () => searchConditions(searched.list, filter)
    const { visibility } = filter.search
    const enough = visibility === null ? Number.POSITIVE_INFINITY : Math.max(EXACT_MATCHES, offset + limit)
    const total = isOfStates(filter) ? await this.#countStates(filter) : await this.#countTo(enough, question())
    if (offset >= total) return { rows: [], total }
    const { by } = orderOf(filter.search)
    const rows = await this.#rows(question(), { by, limit, offset, isDisputed: visibility === 'disputed' })
    return total > enough ? { rows, total, totalIsLowerBound: true } : { rows, total }
  }

  /** Counts at most one match more than `enough`. */
  #countTo(enough: number, question: Conditions): Promise<number> {
    return enough === Number.POSITIVE_INFINITY ? this.#countAll(question) : this.#countUpTo(question, enough + 1)
  }

  /** Counts at most {@link EXACT_MATCHES} matches, or up to the end of a later page. */
  async #foundByText(
    searched: SearchedList,
    filter: Searching,
    offset: number,
    limit: number,
  ): Promise<NumberedPage<RecordRow>> {
    const enough = Math.max(EXACT_MATCHES, offset + limit)
    const isInOrder = await this.#isCommon(searched, filter)
    if (isInOrder && isOfNames(filter)) return this.#foundByNames(searched, filter, offset, limit)
    const { count: total, isCommon } = await this.#matches(searched, filter, { enough, isInOrder })
    if (isCommon && isOfNames(filter)) return this.#foundByNames(searched, filter, offset, limit)
    if (offset >= total) return { rows: [], total }
    const question = searchConditions(searched.list, filter, isCommon)
    const { by, bySorting } = orderOf(filter.search)
    const rows = await this.#rows(question, { by: isCommon ? by : bySorting, limit, offset })
    return total > enough ? { rows, total, totalIsLowerBound: true } : { rows, total }
  }

  /** Returns a page of a search whose names an index has. A page behind the exact matches is read without a count. */
  async #foundByNames(
    { list }: SearchedList,
    filter: Searching,
    offset: number,
    limit: number,
  ): Promise<NumberedPage<RecordRow>> {
    const { by, byNames } = orderOf(filter.search)
    const question = () => searchConditions(list, filter, true)
    if (offset >= EXACT_MATCHES) {
      const found = await this.#rowsByNames(question(), { by: byNames, limit: limit + 1, offset })
      const rows = found.slice(0, limit)
      if (found.length > limit) return { rows, total: offset + found.length, totalIsLowerBound: true }
      return { rows, total: rows.length > 0 ? offset + rows.length : await this.#countByNames(question(), offset) }
    }
    const enough = Math.max(EXACT_MATCHES, offset + limit)
    const total = await this.#countByNames(question(), enough + 1)
    if (offset >= total) return { rows: [], total }
    // A bound of time is found at once in the order of time.
    const isNear = isBounded(filter.search) && total > enough
    const rows = await (isNear
      ? this.#rows(question(), { by, limit, offset })
      : this.#rowsByNames(question(), { by: byNames, limit, offset }))
    return total > enough ? { rows, total, totalIsLowerBound: true } : { rows, total }
  }

  async #walkedQuestion(filter: Searching): Promise<{ conditions: Conditions; by: string; isByNames: boolean }> {
    const searched = await this.#listOf(filter.accountId)
    const { by, bySorting } = orderOf(filter.search)
    if (!isOfText(filter)) return { conditions: searchConditions(searched.list, filter), by, isByNames: false }
    const isInOrder = await this.#isCommon(searched, filter)
    if (isInOrder && isOfNames(filter) && !isBounded(filter.search)) {
      return { conditions: searchConditions(searched.list, filter, true), by, isByNames: true }
    }
    const { isCommon } = await this.#matches(searched, filter, { enough: EXACT_MATCHES, isInOrder })
    const conditions = searchConditions(searched.list, filter, isCommon)
    return { conditions, by: isCommon ? by : bySorting, isByNames: false }
  }

  /**
   * Returns whether the words of a search are common, above all at the start of the list. The index of words does not know the case
   * of names, so names in any case count.
   */
  async #isCommon({ list, pins }: SearchedList, filter: Searching): Promise<boolean> {
    if (filter.hasExpiration || filter.multihash !== null) return false
    const inAny = inAnyCase(filter)
    const sample = await this.#countFirst(list, inAny, SAMPLE, SAMPLE)
    if (sample * COMMON_SHARE >= Math.min(SAMPLE, Math.max(pins, 1))) return true
    const hasCase = isOfNames(filter) && filter.search.names.some(({ match }) => match === 'partial')
    return hasCase && (await this.#countUpTo(searchConditions(list, inAny), EXACT_MATCHES + 1)) > EXACT_MATCHES
  }

  /**
   * Counts at most one match more than `enough`. The index of words reads all entries of a word, so a common word is
   * counted in the list.
   */
  async #matches(
    { list, pins }: SearchedList,
    filter: Searching,
    { enough, isInOrder }: { enough: number; isInOrder: boolean },
  ): Promise<Matches> {
    if (isInOrder) {
      const read = COMMON_SHARE * (enough + 1)
      const count = await this.#countFirst(list, filter, read, enough + 1)
      if (count > enough || pins <= read) return { count, isCommon: true }
    }
    const count = await this.#countUpTo(searchConditions(list, filter), enough + 1)
    return { count, isCommon: count > EXACT_MATCHES }
  }

  /** Counts at most `most` matches among the first `read` records of the list. */
  async #countFirst(list: number, filter: Searching, read: number, most: number): Promise<number> {
    const conditions = conditionsOf(filter)
    const first = `SELECT type, status, owner, multihash, name, folded_name, words FROM records WHERE ${conditions.where}
      ORDER BY ${orderOf(filter.search).by} LIMIT ${conditions.param(read)}`
    const question = conditions.rest()
    addSearch(question, { list, filter, isCommon: true })
    return this.#countUpTo(question, most, `(${first}) AS first`)
  }

  /** Counts at most `most` matches in the index that has the names. */
  async #countByNames(conditions: Conditions, most: number): Promise<number> {
    const text = `SELECT COUNT(*) AS count FROM (
      SELECT 1 FROM records WHERE ${conditions.where} ORDER BY seq DESC LIMIT ${conditions.param(most)}) AS found`
    return (await this.#sql.first<{ count: number }>(text, conditions.params))?.count ?? 0
  }

  /** Finds a page in the index that has the names, and reads only the records of that page. */
  #rowsByNames<Row = RecordRow>(conditions: Conditions, { by, limit, offset, cursor }: PageOrder): Promise<Row[]> {
    const { where } = conditions
    const [most, from] = [conditions.param(limit), conditions.param(offset)]
    const text = `SELECT ${columnsWith(cursor)} FROM records WHERE account_id = $1 AND seq = ANY(ARRAY(
      SELECT seq FROM records WHERE ${where} ORDER BY ${by} LIMIT ${most} OFFSET ${from})) ORDER BY ${by}`
    return this.#sql.all<Row>(text, conditions.params)
  }

  #rows<Row = RecordRow>(conditions: Conditions, { by, limit, offset, cursor, isDisputed }: PageOrder): Promise<Row[]> {
    const { where } = conditions
    const [most, from] = [conditions.param(limit), conditions.param(offset)]
    const text = `SELECT ${columnsWith(cursor)}${isDisputed ? DISPUTED : ''} FROM records WHERE ${where} ORDER BY ${by} LIMIT ${most} OFFSET ${from}`
    return this.#sql.all<Row>(text, conditions.params)
  }

  async #countAll({ where, params }: Conditions): Promise<number> {
    const text = `SELECT COUNT(*) AS count FROM records WHERE ${where}`
    return (await this.#sql.first<{ count: number }>(text, params))?.count ?? 0
  }

  async #countUpTo(conditions: Conditions, limit: number, records = 'records'): Promise<number> {
    const { where } = conditions
    // PostgreSQL takes a parameter for a tenth of all rows, and would then read all records to find that many.
    const most = limit === EXACT_MATCHES + 1 ? limit : conditions.param(limit)
    const text = `SELECT COUNT(*) AS count FROM (
      SELECT 1 FROM ${records} WHERE ${where} LIMIT ${most}) AS found`
    return (await this.#sql.first<{ count: number }>(text, conditions.params))?.count ?? 0
  }

  async #count({ accountId, hasExpiration, now }: RecordFilter): Promise<number> {
    const { pins, expiringPins } = await runRule(usageOf(accountId, now), this.#sql)
    return hasExpiration ? expiringPins : pins
  }

  /**
   * Subtracts the expired records and those with other statuses from the counters of the account, or of its places.
   * Most records are pinned, and need no read.
   */
  async #countStates({ accountId, hasExpiration, now, search }: Searching): Promise<number> {
    const conditions = new Conditions()
    conditions.add('account_id = ?', accountId)
    const time = conditions.param(now)
    // Few records are expired or not pinned. Their indexes must find them, not an index of times.
    addBounds(conditions, search, 'IS TRUE')
    const { where } = conditions
    const { statuses } = search
    const others = statuses.length === 0 ? 'FALSE' : `status <> ALL(${conditions.param(statuses)})`
    const text = `SELECT (${isBounded(search) ? boundedCount(conditions, hasExpiration, search) : counter(hasExpiration)}
        - (SELECT COUNT(*) FROM records WHERE ${where} AND expires_at <= ${time})
        - (SELECT COUNT(*) FROM records WHERE ${where} AND ${live(time)} AND ${NOT_PINNED}
             AND ${others}${hasExpiration ? ' AND expires_at IS NOT NULL' : ''}))::bigint AS count
      FROM accounts WHERE id = $1`
    return (await this.#sql.first<{ count: number }>(text, conditions.params))?.count ?? 0
  }

  async #listOf(accountId: string): Promise<SearchedList> {
    const text = 'SELECT seq AS list, pins FROM accounts WHERE id = $1'
    return (await this.#sql.first<SearchedList>(text, [accountId])) ?? { list: 0, pins: 0 }
  }
}

function columnsWith(cursor: string | undefined): string {
  return cursor === undefined ? RECORD_COLUMNS : `${RECORD_COLUMNS}, ${cursor} AS cursor`
}
