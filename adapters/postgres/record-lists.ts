import { EXACT_MATCHES, type NumberedPage, type Page, type PageRequest } from '../../src/catalogue/page.ts'
import type { RecordFilter, RecordRow } from '../../src/catalogue/records.ts'
import { usageOf } from '../../src/catalogue/rules/record-rules.ts'
import type { Postgres } from './postgres.ts'
import { runRule } from './postgres-driver.ts'
import {
  addBounds,
  addSearch,
  Conditions,
  conditionsOf,
  isBounded,
  isOfStates,
  isOfText,
  NOT_PINNED,
  orderOf,
  type Searching,
  searchConditions,
} from './record-conditions.ts'
import { live, RECORD_COLUMNS } from './record-rows.ts'
import type { Sql } from './sql.ts'

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
    const { conditions, by } =
      search === undefined
        ? { conditions: conditionsOf(filter), by: order.by }
        : await this.#walkedQuestion({ ...filter, search })
    if (after !== null) order.startAfter(conditions, after)
    const rows = await this.#rows<RecordRow & { cursor: string }>(conditions, by, limit + 1, 0, order.cursor)
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
      place = `WITH place AS (${placeBefore(filter, skipped)})`
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
    const question = searchConditions(searched.list, filter)
    const total = isOfStates(filter) ? await this.#countStates(filter) : await this.#countAll(question)
    if (offset >= total) return { rows: [], total }
    return { rows: await this.#rows(question, orderOf(filter.search).by, limit, offset), total }
  }

  /** Counts at most {@link EXACT_MATCHES} matches, or up to the end of a later page. */
  async #foundByText(
    searched: SearchedList,
    filter: Searching,
    offset: number,
    limit: number,
  ): Promise<NumberedPage<RecordRow>> {
    const enough = Math.max(EXACT_MATCHES, offset + limit)
    const { count: total, isCommon } = await this.#matches(searched, filter, enough)
    if (offset >= total) return { rows: [], total }
    const question = searchConditions(searched.list, filter, isCommon)
    const { by, bySorting } = orderOf(filter.search)
    const rows = await this.#rows(question, isCommon ? by : bySorting, limit, offset)
    return total > enough ? { rows, total, totalIsLowerBound: true } : { rows, total }
  }

  async #walkedQuestion(filter: Searching): Promise<{ conditions: Conditions; by: string }> {
    const searched = await this.#listOf(filter.accountId)
    const { by, bySorting } = orderOf(filter.search)
    if (!isOfText(filter)) return { conditions: searchConditions(searched.list, filter), by }
    const { isCommon } = await this.#matches(searched, filter, EXACT_MATCHES)
    return { conditions: searchConditions(searched.list, filter, isCommon), by: isCommon ? by : bySorting }
  }

  /**
   * Counts at most one match more than `enough`. The index of words reads all entries of a word, so a common word is
   * counted in the list.
   */
  async #matches({ list, pins }: SearchedList, filter: Searching, enough: number): Promise<Matches> {
    const isSampled = !filter.hasExpiration && filter.multihash === null
    const sample = isSampled ? await this.#countFirst(list, filter, SAMPLE, SAMPLE) : 0
    if (sample * COMMON_SHARE >= Math.min(SAMPLE, Math.max(pins, 1))) {
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
    const first = `SELECT type, status, multihash, name, folded_name, words FROM records WHERE ${conditions.where}
      ORDER BY ${orderOf(filter.search).by} LIMIT ${conditions.param(read)}`
    const question = conditions.rest()
    addSearch(question, { list, filter, isCommon: true })
    return this.#countUpTo(question, most, `(${first}) AS first`)
  }

  #rows<Row = RecordRow>(
    conditions: Conditions,
    order: string,
    limit: number,
    offset: number,
    cursor?: string,
  ): Promise<Row[]> {
    const { where } = conditions
    const [most, from] = [conditions.param(limit), conditions.param(offset)]
    const columns = cursor === undefined ? RECORD_COLUMNS : `${RECORD_COLUMNS}, ${cursor} AS cursor`
    const text = `SELECT ${columns} FROM records WHERE ${where} ORDER BY ${order} LIMIT ${most} OFFSET ${from}`
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

function counter(hasExpiration: boolean): string {
  return hasExpiration ? 'expiring_pins' : 'pins'
}

/** Returns SQL for the number of records within the bounds of time, expired ones included. */
function boundedCount(conditions: Conditions, hasExpiration: boolean, { before, after }: Searching['search']): string {
  const newest = before === null ? counter(hasExpiration) : olderThan(conditions.param(before), hasExpiration)
  return after === null ? newest : `${newest} - ${olderThan(conditions.param(after + 1), hasExpiration)}`
}

/**
 * Returns SQL for the number of records created before a time: all places that begin before it, without the newer
 * records of the last one. Parameter 1 is the account.
 */
function olderThan(time: string, hasExpiration: boolean): string {
  const next = `FROM record_places WHERE account_id = $1 AND created_at >= ${time} ORDER BY created_at, id LIMIT 1`
  return `((SELECT COALESCE(SUM(${hasExpiration ? 'expiring' : 'records'}), 0) FROM record_places
      WHERE account_id = $1 AND created_at < ${time})
    - (SELECT COUNT(*) FROM records WHERE account_id = $1 AND created_at >= ${time}
         ${hasExpiration ? 'AND expires_at IS NOT NULL ' : ''}AND (created_at, id) <
         (COALESCE((SELECT created_at ${next}), ${NEVER}), COALESCE((SELECT id ${next}), ''))))`
}

/**
 * Returns SQL that finds the last row of `record_places` with at most `most` live records before it.
 *
 * A row counts expired records until they are removed, so the query subtracts them. Parameter 1 is the account,
 * parameter 2 the current time.
 */
function placeBefore({ hasExpiration }: RecordFilter, most: string): string {
  return `SELECT created_at, id, passed FROM (
    SELECT created_at, id, is_place, SUM(count) OVER (ORDER BY created_at DESC, id DESC)::bigint AS passed FROM (
      SELECT created_at, id, ${hasExpiration ? 'expiring' : 'records'} AS count, TRUE AS is_place
      FROM record_places WHERE account_id = $1
      UNION ALL
      SELECT created_at, id, -1, FALSE FROM records WHERE account_id = $1 AND expires_at <= $2) AS counts) AS sums
    WHERE is_place AND passed <= ${most} ORDER BY created_at, id LIMIT 1`
}
