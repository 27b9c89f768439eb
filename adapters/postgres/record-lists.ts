import { EXACT_MATCHES, type NumberedPage, type Page, type PageRequest } from '../../src/catalogue/page.ts'
import type { RecordFilter, RecordRow, RecordSearch } from '../../src/catalogue/records.ts'
import { usageOf } from '../../src/catalogue/rules/record-rules.ts'
import { folded, foldedNameWord, metaWord, nameWord, partWords } from '../../src/domain/search-words.ts'
import type { Postgres } from './postgres.ts'
import { runRule } from './postgres-driver.ts'
import { live, RECORD_COLUMNS } from './record-rows.ts'
import type { Sql, SqlParam } from './sql.ts'

const NEWEST_FIRST = 'created_at DESC, id DESC'
/** From this offset, a query uses the counts in `record_places` instead of reading each skipped record. */
const FAR = 1_000
/** SQL condition of a partial index. Few records are not pinned. */
const NOT_PINNED = "status <> 'pinned'"
const NEVER = Number.MAX_SAFE_INTEGER

class Conditions {
  readonly params: SqlParam[] = []
  readonly #conditions: string[] = []

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
    if (search !== undefined) return this.#walkFound({ ...filter, search }, after, limit)
    const conditions = conditionsOf(filter)
    const place = after === null ? null : /^(-?\d{1,16}) (.+)$/.exec(after)
    if (place !== null) {
      const [createdAt, id] = [conditions.param(Number(place[1])), conditions.param(place[2] ?? '')]
      conditions.is(`(created_at, id) < (${createdAt}, ${id})`)
    }
    const rows = await this.#rows(conditions, NEWEST_FIRST, limit + 1, 0)
    const last = rows.length > limit ? rows[limit - 1] : undefined
    return { rows: rows.slice(0, limit), next: last === undefined ? null : `${last.createdAt} ${last.id}` }
  }

  /** Reads the ids of a page from an index alone, and then only the records of that page. */
  #slice(filter: RecordFilter, offset: number, limit: number): Promise<RecordRow[]> {
    const conditions = conditionsOf(filter)
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
         SELECT id FROM records WHERE ${conditions.where} ORDER BY ${NEWEST_FIRST} LIMIT ${most} OFFSET ${from}))
       ORDER BY ${NEWEST_FIRST}`,
      conditions.params,
    )
  }

  async #found(filter: Searching, offset: number, limit: number): Promise<NumberedPage<RecordRow>> {
    const list = await this.#listOf(filter.accountId)
    if (isOfText(filter)) return this.#foundByText(list, filter, offset, limit)
    const total = isOfStates(filter) ? await this.#countStates(filter) : await this.#countAll(questionOf(list, filter))
    if (offset >= total) return { rows: [], total }
    return { rows: await this.#rows(questionOf(list, filter), orderOf(filter), limit, offset), total }
  }

  /** Counts at most {@link EXACT_MATCHES} matches, or up to the end of a later page. */
  async #foundByText(list: number, filter: Searching, offset: number, limit: number): Promise<NumberedPage<RecordRow>> {
    const enough = Math.max(EXACT_MATCHES, offset + limit)
    const total = await this.#countUpTo(questionOf(list, filter), enough + 1)
    if (offset >= total) return { rows: [], total }
    const rows = await this.#rows(questionOf(list, filter, total > EXACT_MATCHES), orderOf(filter), limit, offset)
    return total > enough ? { rows, total, totalIsLowerBound: true } : { rows, total }
  }

  async #walkFound(filter: Searching, after: string | null, limit: number): Promise<Page<RecordRow>> {
    const list = await this.#listOf(filter.accountId)
    const isCommon =
      isOfText(filter) && (await this.#countUpTo(questionOf(list, filter), EXACT_MATCHES + 1)) > EXACT_MATCHES
    const question = questionOf(list, filter, isCommon)
    if (after !== null && /^\d{1,16}$/.test(after)) {
      question.add(filter.search.oldestFirst ? 'seq > ?' : 'seq < ?', Number(after))
    }
    const raw = await this.#rows(question, orderOf(filter), limit + 1, 0)
    const last = raw.length > limit ? raw[limit - 1] : undefined
    return { rows: raw.slice(0, limit), next: last === undefined ? null : await this.#placeOf(last) }
  }

  #rows(conditions: Conditions, order: string, limit: number, offset: number): Promise<RecordRow[]> {
    const { where } = conditions
    const [most, from] = [conditions.param(limit), conditions.param(offset)]
    const text = `SELECT ${RECORD_COLUMNS} FROM records WHERE ${where} ORDER BY ${order} LIMIT ${most} OFFSET ${from}`
    return this.#sql.all<RecordRow>(text, conditions.params)
  }

  async #placeOf({ id }: RecordRow): Promise<string | null> {
    const found = await this.#sql.first<{ seq: number }>('SELECT seq FROM records WHERE id = $1', [id])
    return found === undefined ? null : String(found.seq)
  }

  async #countAll({ where, params }: Conditions): Promise<number> {
    const text = `SELECT COUNT(*) AS count FROM records WHERE ${where}`
    return (await this.#sql.first<{ count: number }>(text, params))?.count ?? 0
  }

  async #countUpTo(conditions: Conditions, limit: number): Promise<number> {
    const { where } = conditions
    const text = `SELECT COUNT(*) AS count FROM (
      SELECT 1 FROM records WHERE ${where} LIMIT ${conditions.param(limit)}) AS found`
    return (await this.#sql.first<{ count: number }>(text, conditions.params))?.count ?? 0
  }

  async #count({ accountId, hasExpiration, now }: RecordFilter): Promise<number> {
    const { pins, expiringPins } = await runRule(usageOf(accountId, now), this.#sql)
    return hasExpiration ? expiringPins : pins
  }

  /**
   * Subtracts the expired records and those with other statuses from the account's counter. Most records are pinned,
   * and need no read.
   */
  async #countStates({ accountId, hasExpiration, now, search: { statuses } }: Searching): Promise<number> {
    const text = `SELECT ${hasExpiration ? 'expiring_pins' : 'pins'}
        - (SELECT COUNT(*) FROM records WHERE account_id = $1 AND expires_at <= $2)
        - (SELECT COUNT(*) FROM records WHERE account_id = $1 AND ${live('$2')} AND ${NOT_PINNED}
             AND status <> ALL($3)${hasExpiration ? ' AND expires_at IS NOT NULL' : ''}) AS count
      FROM accounts WHERE id = $1`
    return (await this.#sql.first<{ count: number }>(text, [accountId, now, statuses]))?.count ?? 0
  }

  async #listOf(accountId: string): Promise<number> {
    const text = 'SELECT seq AS list FROM accounts WHERE id = $1'
    return (await this.#sql.first<{ list: number }>(text, [accountId]))?.list ?? 0
  }
}

type Searching = RecordFilter & { search: RecordSearch }

function isOfStates({ multihash, search }: Searching): boolean {
  const { names, meta, types, statuses, multihashes, before, after } = search
  const hasMore = [names, Object.keys(meta), types, multihashes].some(({ length }) => length > 0)
  return multihash === null && !hasMore && before === null && after === null && statuses.includes('pinned')
}

function isOfText({ search: { names, meta } }: Searching): boolean {
  return names.length > 0 || Object.keys(meta).length > 0
}

function orderOf({ search }: Searching): string {
  return search.oldestFirst ? 'seq' : 'seq DESC'
}

function conditionsOf({ accountId, multihash, hasExpiration, now }: RecordFilter): Conditions {
  const conditions = new Conditions()
  conditions.add('account_id = ?', accountId)
  if (multihash !== null) conditions.add('multihash = ?', multihash)
  if (hasExpiration) conditions.is('expires_at IS NOT NULL')
  conditions.is(live(conditions.param(now)))
  return conditions
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

/**
 * Translates a search into SQL. The word index narrows the rows, and further conditions check the rest.
 *
 * @param isCommon true if the words match many records. PostgreSQL then reads the list in order up to the limit,
 * instead of sorting all matches.
 */
function questionOf(list: number, filter: Searching, isCommon = false): Conditions {
  const conditions = conditionsOf(filter)
  const { names, meta, types, statuses, multihashes, before, after } = filter.search
  const words: string[] = Object.entries(meta).map(([key, value]) => metaWord(list, key, value))
  for (const { text, match } of names) {
    if (match === 'exact') {
      words.push(nameWord(list, text))
      conditions.add('name = ?', text)
    } else if (match === 'iexact') {
      words.push(foldedNameWord(list, text))
      conditions.add('folded_name = ?', folded(text))
    } else {
      words.push(...partWords(list, text).words)
      if (match === 'partial') conditions.add('strpos(name, ?) > 0', text)
      else conditions.add('strpos(folded_name, ?) > 0', folded(text))
    }
  }
  if (words.length > 0) conditions.add(isCommon ? '(words @> ?) IS TRUE' : 'words @> ?', words)
  if (types.length > 0) conditions.add('type = ANY(?)', types)
  if (statuses.length > 0) {
    conditions.add('status = ANY(?)', statuses)
    if (!statuses.includes('pinned')) conditions.is(NOT_PINNED)
  }
  if (multihashes.length > 0) conditions.add('multihash = ANY(?::bytea[])', multihashes)
  if (before !== null) conditions.add('created_at < ?', before)
  if (after !== null) conditions.add('created_at > ?', after)
  return conditions
}
