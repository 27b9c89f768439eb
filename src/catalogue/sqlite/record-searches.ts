import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { Database, Statement } from '../../storage/database.ts'
import { BLOCK_RECORDS, LIST_RECORDS } from '../../storage/search-function.ts'
import { EXACT_MATCHES, type NumberedPage, type Page, type PageRequest } from '../page.ts'
import type { ListedRecord, RecordFilter, RecordSearch } from '../records.ts'
import { ListOrder, type Span, type TimedSpan } from './list-order.ts'
import { type FoundRecord, questionOf, type RecordQuestion } from './record-question.ts'
import { LISTED_COLUMNS, type RecordTable } from './record-table.ts'
import type { SearchIndex } from './search-index.ts'

type Searching = RecordFilter & { search: RecordSearch }

/** Maximum number of records with a rare word. One statement reads all these records. */
const FEW = 64
/** Maximum number of words of a question whose rarity is tested in each block. */
const MOST_PROBED = 8
const READ_AT_ONCE = 500

/** The part of a list in one block of the search index. */
interface Block extends TimedSpan {
  number: number
  /** True if the part has all records of the block, and all of them lie within the time bounds. */
  isFull: boolean
}

interface Found {
  /** True if the block has no other matches. */
  isAll: boolean
  count: () => number
  rows: (limit: number, from: number) => ListedRecord[]
}

interface Statements {
  /** Reads the search ids in a range that match a query. The last parameters are limit and offset. */
  matches: Statement<[string, number, number, number, number], { id: number }>
  /** Reads the records of a JSON array of search ids, with their multihashes if the first parameter is 1. */
  records: Statement<[0 | 1, string], FoundRecord>
  first: Statement<[number, number], { id: number }>
}

/** Returns pages of the records that match a search, in the order of their commits. */
export class RecordSearches {
  readonly #records: RecordTable
  readonly #index: SearchIndex
  readonly #order: ListOrder
  readonly #list: Statement<[string], { number: number; last: number }>
  readonly #count: Statement<[string, number, number], { count: number }>
  readonly #newest: Statements
  readonly #oldest: Statements

  constructor(db: Database, records: RecordTable, index: SearchIndex) {
    this.#records = records
    this.#index = index
    this.#order = new ListOrder(db)
    this.#list = db.prepare('SELECT number, last FROM search_lists WHERE account_id = ?')
    this.#count = db.prepare(
      'SELECT COUNT(*) AS count FROM record_search WHERE record_search MATCH ? AND rowid BETWEEN ? AND ?',
    )
    this.#newest = prepare(db, 'DESC')
    this.#oldest = prepare(db, 'ASC')
  }

  /**
   * Returns a page by its offset, and the total. A search by text with more than {@link EXACT_MATCHES} matches stops
   * counting after the page.
   */
  async page(filter: Searching, offset: number, limit: number): Promise<NumberedPage<ListedRecord>> {
    await this.#index.update(filter.accountId, filter.now)
    const question = questionOf(filter)
    const enough = question.isText ? Math.max(EXACT_MATCHES, offset + limit) : Number.POSITIVE_INFINITY
    const rows: ListedRecord[] = []
    let total = 0
    for (const block of this.#blocks(filter, null)) {
      const known = block.isFull ? this.#index.counts.get(question.key, block.number) : undefined
      const isPassed = known === 0 || (known !== undefined && (rows.length >= limit || total + known <= offset))
      const remember = this.#index.counts.begin(question.key, block.number)
      const before = total
      for (const found of isPassed ? [passed(known)] : this.#inBlock(question, filter, block, known)) {
        const count = found.count()
        const from = Math.max(0, offset - total)
        if (from < count && rows.length < limit) rows.push(...found.rows(limit - rows.length, from))
        total += count
        if (total > enough) {
          if (block.isFull && found.isAll) remember(count)
          return { rows, total, totalIsLowerBound: true }
        }
        if (turnSpent()) await nextTurn()
      }
      if (block.isFull) remember(total - before)
    }
    return { rows, total }
  }

  async walk(filter: Searching, { after, limit }: PageRequest): Promise<Page<ListedRecord>> {
    await this.#index.update(filter.accountId, filter.now)
    const question = questionOf(filter)
    const rows: ListedRecord[] = []
    for (const block of this.#blocks(filter, after === null ? null : Number(after))) {
      for (const found of this.#inBlock(question, filter, block)) {
        rows.push(...found.rows(limit + 1 - rows.length, 0))
        if (rows.length > limit) break
        if (turnSpent()) await nextTurn()
      }
      if (rows.length > limit) break
    }
    const last = rows.length > limit ? rows[limit - 1] : undefined
    const id = last === undefined ? undefined : this.#records.searchId(last.id)
    return { rows: rows.slice(0, limit), next: id === undefined ? null : String(id) }
  }

  /** Yields the blocks with records after the search id `after`, in the order of the search. */
  *#blocks({ accountId, search }: Searching, after: number | null): Generator<Block> {
    const list = this.#list.get(accountId)
    if (list === undefined) return
    const { oldestFirst } = search
    const start = list.number * LIST_RECORDS
    const whole = { first: start, last: blockOf(start + list.last).last }
    const spans = this.#order.spans(accountId, search, whole)
    const { first } = oldestFirst ? this.#oldest : this.#newest
    for (const span of oldestFirst ? spans : spans.toReversed()) {
      for (let left = spanAfter(span, after, oldestFirst); ; ) {
        const next = first.get(left.first, left.last)
        if (next === undefined) break
        const block = blockOf(next.id)
        const part = { first: Math.max(left.first, block.first), last: Math.min(left.last, block.last) }
        // A time bound ends the part after its last record, so the rest of the block may have no record.
        const isFull =
          span.isSure &&
          part.first === block.first &&
          (part.last === block.last || first.get(part.last + 1, block.last) === undefined)
        yield { ...part, number: block.number, isSure: span.isSure, isFull }
        left = oldestFirst ? { first: part.last + 1, last: left.last } : { first: left.first, last: part.first - 1 }
      }
    }
  }

  *#inBlock(question: RecordQuestion, { search }: Searching, block: Block, known?: number): Generator<Found> {
    const { matches, records } = search.oldestFirst ? this.#oldest : this.#newest
    const read = (found: ReadonlyArray<{ id: number }>): FoundRecord[] =>
      records.all(question.isOfContent ? 1 : 0, JSON.stringify(found.map(({ id }) => id)))
    const { first, last, number } = block
    const few = this.#few(question, block)
    if (few !== null) {
      yield foundOf(read(few).filter(question.accepts))
      return
    }
    const query = question.query(number)
    if (question.isWhole && block.isSure) {
      yield {
        isAll: true,
        count: () => known ?? this.#count.get(query, first, last)?.count ?? 0,
        rows: (limit, from) => read(matches.all(query, first, last, limit, from)),
      }
      return
    }
    let left: Span = block
    // Each lookup starts from the first entry of a word, so few lookups read a whole block.
    for (let most = READ_AT_ONCE; ; most *= 8) {
      const candidates = matches.all(query, left.first, left.last, most, 0)
      for (let i = 0; i < candidates.length; i += READ_AT_ONCE) {
        yield foundOf(read(candidates.slice(i, i + READ_AT_ONCE)).filter(question.accepts))
      }
      const end = candidates.at(-1)
      if (end === undefined || candidates.length < most) return
      left = spanAfter(left, end.id, search.oldestFirst)
    }
  }

  /** Returns the records of a block with a rare word of the question; null if no word is rare. */
  #few(question: RecordQuestion, { number, first, last }: Block): Array<{ id: number }> | null {
    for (const word of question.required(number).slice(0, MOST_PROBED)) {
      const found = this.#oldest.matches.all(word, first, last, FEW + 1, 0)
      if (found.length <= FEW) return found
    }
    return null
  }
}

function passed(count: number): Found {
  return { isAll: true, count: () => count, rows: () => [] }
}

function foundOf(rows: readonly ListedRecord[]): Found {
  return { isAll: false, count: () => rows.length, rows: (limit, from) => rows.slice(from, from + limit) }
}

function blockOf(id: number): Span & { number: number } {
  const number = Math.floor(id / BLOCK_RECORDS)
  return { number, first: number * BLOCK_RECORDS, last: (number + 1) * BLOCK_RECORDS - 1 }
}

function spanAfter({ first, last }: Span, after: number | null, oldestFirst: boolean): Span {
  if (after === null) return { first, last }
  return oldestFirst ? { first: Math.max(first, after + 1), last } : { first, last: Math.min(last, after - 1) }
}

function prepare(db: Database, order: 'ASC' | 'DESC'): Statements {
  return {
    matches: db.prepare<[string, number, number, number, number], { id: number }>(`
      SELECT rowid AS id FROM record_search WHERE record_search MATCH ? AND rowid BETWEEN ? AND ?
      ORDER BY rowid ${order} LIMIT ? OFFSET ?`),
    records: db.prepare<[0 | 1, string], FoundRecord>(`
      SELECT ${LISTED_COLUMNS}, IIF(?, multihash, NULL) AS multihash FROM records WHERE search_id IN (SELECT value FROM json_each(?))
      ORDER BY search_id ${order}`),
    first: db.prepare<[number, number], { id: number }>(`
      SELECT search_id AS id FROM records WHERE search_id BETWEEN ? AND ? ORDER BY search_id ${order} LIMIT 1`),
  }
}
