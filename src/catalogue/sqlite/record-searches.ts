import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { Database, Statement } from '../../storage/database.ts'
import { BLOCK_RECORDS, LIST_RECORDS } from '../../storage/search-function.ts'
import { EXACT_MATCHES, type NumberedPage, type Page, type PageRequest } from '../page.ts'
import type { ListedRecord, RecordFilter, RecordSearch } from '../records.ts'
import { type Block, BlockSearch } from './block-search.ts'
import { ListOrder, type Span } from './list-order.ts'
import { questionOf, type RecordQuestion } from './record-question.ts'
import type { RecordTable } from './record-table.ts'
import type { SearchIndex } from './search-index.ts'

type Searching = RecordFilter & { search: RecordSearch }

/** The first record of a span. */
interface First {
  id: number
  /** True if a record of its block has changed since its words were indexed. */
  hasChanged: 0 | 1
}

/** Maximum number of records that one statement compares if the index `records_by_search` alone does not suffice. */
const COMPARED_AT_ONCE = 2 ** 12

/** Returns pages of the records that match a search, in the order of their commits. */
export class RecordSearches {
  readonly #records: RecordTable
  readonly #index: SearchIndex
  readonly #order: ListOrder
  readonly #search: BlockSearch
  readonly #list: Statement<[string], { number: number; last: number }>
  readonly #newest: Statement<[number, number], First>
  readonly #oldest: Statement<[number, number], First>

  constructor(db: Database, records: RecordTable, index: SearchIndex) {
    this.#records = records
    this.#index = index
    this.#order = new ListOrder(db)
    this.#search = new BlockSearch(db, index)
    this.#list = db.prepare('SELECT number, last FROM search_lists WHERE account_id = ?')
    this.#newest = firstIn(db, 'DESC')
    this.#oldest = firstIn(db, 'ASC')
  }

  /**
   * Returns a page by its offset, and the total. A search by text with more than {@link EXACT_MATCHES} matches stops
   * counting after the page.
   */
  async page(filter: Searching, offset: number, limit: number): Promise<NumberedPage<ListedRecord>> {
    const { now, search } = filter
    const { counts } = this.#index
    const question = questionOf(filter)
    const enough = question.isText ? Math.max(EXACT_MATCHES, offset + limit) : Number.POSITIVE_INFINITY
    const rows: ListedRecord[] = []
    let total = 0
    for (const block of this.#blocks(filter, question, null)) {
      if (block.hasChanged) void this.#index.catchUp(1)
      const isKept = block.isFull && !block.hasChanged
      const known = isKept ? counts.get(question.key, block.number, now) : undefined
      const isPassed = known === 0 || (known !== undefined && (rows.length >= limit || total + known <= offset))
      if (!isPassed) {
        const found = this.#search.find(question, block, search.oldestFirst)
        const counted = known === undefined ? found.count() : { count: known, until: null }
        if (isKept && known === undefined) counts.set(question.key, block.number, now, counted)
        const from = Math.max(0, offset - total)
        if (from < counted.count && rows.length < limit) rows.push(...found.rows(limit - rows.length, from))
        total += counted.count
      } else total += known
      if (total > enough) return { rows, total, totalIsLowerBound: true }
      if (turnSpent()) await nextTurn()
    }
    return { rows, total }
  }

  async walk(filter: Searching, { after, limit }: PageRequest): Promise<Page<ListedRecord>> {
    const question = questionOf(filter)
    const rows: ListedRecord[] = []
    for (const block of this.#blocks(filter, question, after === null ? null : Number(after))) {
      const found = this.#search.find(question, block, filter.search.oldestFirst)
      rows.push(...found.rows(limit + 1 - rows.length, 0))
      if (rows.length > limit) break
      if (turnSpent()) await nextTurn()
    }
    const last = rows.length > limit ? rows[limit - 1] : undefined
    const id = last === undefined ? undefined : this.#records.searchId(last.id)
    return { rows: rows.slice(0, limit), next: id === undefined ? null : String(id) }
  }

  /** Yields the blocks with records after the search id `after`, in the order of the search. */
  *#blocks({ accountId, search }: Searching, question: RecordQuestion, after: number | null): Generator<Block> {
    const list = this.#list.get(accountId)
    if (list === undefined) return
    const { oldestFirst } = search
    const start = list.number * LIST_RECORDS
    const whole = { first: start, last: blockOf(start + list.last).last }
    const spans = this.#order.spans(accountId, search, whole)
    const first = oldestFirst ? this.#oldest : this.#newest
    for (const span of oldestFirst ? spans : spans.toReversed()) {
      const size = question.isWhole && span.isSure ? BLOCK_RECORDS : COMPARED_AT_ONCE
      for (let left = spanAfter(span, after, oldestFirst); ; ) {
        const next = first.get(left.first, left.last)
        if (next === undefined) break
        const block = blockOf(next.id)
        const piece = spanOf(next.id, size)
        const part = { first: Math.max(left.first, piece.first), last: Math.min(left.last, piece.last) }
        // A time bound ends the part after its last record, so the rest of the block may have no record.
        const isFull =
          span.isSure &&
          part.first === block.first &&
          (part.last === block.last || first.get(part.last + 1, block.last) === undefined)
        yield { ...part, number: block.number, isSure: span.isSure, isFull, hasChanged: next.hasChanged === 1 }
        left = spanAfter(left, oldestFirst ? part.last : part.first, oldestFirst)
      }
    }
  }
}

function blockOf(id: number): Span & { number: number } {
  return { number: Math.floor(id / BLOCK_RECORDS), ...spanOf(id, BLOCK_RECORDS) }
}

/** Returns the range of `size` ids that has an id. */
function spanOf(id: number, size: number): Span {
  const first = Math.floor(id / size) * size
  return { first, last: first + size - 1 }
}

function spanAfter({ first, last }: Span, after: number | null, oldestFirst: boolean): Span {
  if (after === null) return { first, last }
  return oldestFirst ? { first: Math.max(first, after + 1), last } : { first, last: Math.min(last, after - 1) }
}

function firstIn(db: Database, order: 'ASC' | 'DESC'): Statement<[number, number], First> {
  const block = `records.search_id / ${BLOCK_RECORDS} * ${BLOCK_RECORDS}`
  return db.prepare(`
    SELECT search_id AS id, EXISTS (
      SELECT 1 FROM search_pending WHERE search_id BETWEEN ${block} AND ${block} + ${BLOCK_RECORDS - 1}) AS "hasChanged"
    FROM records WHERE search_id BETWEEN ? AND ? ORDER BY search_id ${order} LIMIT 1`)
}
