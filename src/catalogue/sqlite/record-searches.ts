import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { Database, SqlValue, Statement } from '../../storage/database.ts'
import { LIST_RECORDS } from '../../storage/search-function.ts'
import type { Page, PageRequest } from '../page.ts'
import type { RecordFilter, RecordRow, RecordSearch } from '../records.ts'
import { type CheckedRecord, questionOf, type RecordQuestion } from './record-question.ts'
import { RECORD_COLUMNS, type RecordTable } from './record-table.ts'

type Searching = RecordFilter & { search: RecordSearch }

/** Record numbers that one statement searches: this many at first, doubled up to the widest while few records match. */
const WINDOW = 64 * 1024
const WIDEST_WINDOW = 256 * 1024
/** If a window finds more records than this, the next one has the initial width again. */
const MUCH = 8 * 1024
/** Maximum number of records that one statement reads to check their names. */
const CHECKED_AT_ONCE = 2_000
/** Record numbers in which one statement looks for a rare word. */
const PROBED = 1024 * 1024
/** A word is rare if at most this many records have it. */
const FEW = 64
/** Maximum number of words that a search probes for rareness. */
const MOST_PROBED = 8

/** A range of record numbers, both ends included. */
interface Span {
  first: number
  last: number
}

/** The matches in a span. `rows` reads a part of them. */
interface Found {
  count: number
  rows: (limit: number, from: number) => RecordRow[]
}

/**
 * Searches an account's records through the full-text index, in insertion order or its reverse. Records are numbered in
 * insertion order.
 */
export class RecordSearches {
  readonly #records: RecordTable
  readonly #list: Statement<[string], { number: number; last: number; disordered: 0 | 1 }>
  readonly #lastBefore: Statement<[string, number], { id: number }>
  readonly #firstAfter: Statement<[string, number], { id: number }>
  readonly #count: Statement<[string, number, number], { count: number }>
  readonly #probe: Statement<[string, number, number, number], { id: number }>
  readonly #newest: FoundStatements
  readonly #oldest: FoundStatements

  constructor(db: Database, records: RecordTable) {
    this.#records = records
    this.#list = db.prepare('SELECT number, last, disordered FROM search_lists WHERE account_id = ?')
    this.#lastBefore = db.prepare(`
      SELECT search_id AS id FROM records INDEXED BY records_in_order
      WHERE account_id = ? AND created_at < ? ORDER BY created_at DESC, search_id DESC LIMIT 1`)
    this.#firstAfter = db.prepare(`
      SELECT search_id AS id FROM records INDEXED BY records_in_order
      WHERE account_id = ? AND created_at > ? ORDER BY created_at, search_id LIMIT 1`)
    this.#count = db.prepare(
      'SELECT COUNT(*) AS count FROM record_search WHERE record_search MATCH ? AND rowid BETWEEN ? AND ?',
    )
    this.#probe = db.prepare(
      'SELECT rowid AS id FROM record_search WHERE record_search MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?',
    )
    this.#newest = prepare(db, 'DESC')
    this.#oldest = prepare(db, 'ASC')
  }

  /** Returns a page of the matches, and their total number. */
  async page(filter: Searching, offset: number, limit: number): Promise<{ rows: RecordRow[]; total: number }> {
    const question = this.#questionOf(filter)
    const rows: RecordRow[] = []
    let total = 0
    if (question !== null) {
      for (const found of this.#look(question, filter, question.span)) {
        const from = Math.max(0, offset - total)
        if (from < found.count && rows.length < limit) rows.push(...found.rows(limit - rows.length, from))
        total += found.count
        if (turnSpent()) await nextTurn()
      }
    }
    return { rows, total }
  }

  /** Returns a page of the matches without counting them all. Continues after the record number in `after`. */
  async walk(filter: Searching, { after, limit }: PageRequest): Promise<Page<RecordRow>> {
    const question = this.#questionOf(filter)
    const found: RecordRow[] = []
    if (question === null) return { rows: found, next: null }
    const { oldestFirst } = filter.search
    const span = after === null ? question.span : spanFrom(question.span, Number(after), oldestFirst)
    for (const { rows } of this.#look(question, filter, span)) {
      found.push(...rows(limit + 1 - found.length, 0))
      if (found.length > limit) break
      if (turnSpent()) await nextTurn()
    }
    const rows = found.slice(0, limit)
    const last = rows.at(-1)
    const id = last === undefined || found.length <= limit ? undefined : this.#records.searchId(last.id)
    return { rows, next: id === undefined ? null : String(id) }
  }

  /** Returns the query and the range to search; null if nothing can match. */
  #questionOf(filter: Searching): (RecordQuestion & { span: Span }) | null {
    const { accountId, search } = filter
    const list = this.#list.get(accountId)
    if (list === undefined) return null
    const start = list.number * LIST_RECORDS
    const whole = { first: start, last: start + list.last }
    const span = list.disordered === 1 ? whole : this.#between(accountId, search, whole)
    if (span === null) return null
    const question = questionOf(list.number, filter)
    // The index still has expired records. In a list whose times are not ascending, the span of numbers does not match
    // the times. In both cases each record is checked.
    const isOver = this.#records.counts(accountId, filter.now).expired > 0
    const isWhole = question.isWhole && !isOver && list.disordered === 0
    return { ...question, isWhole, span }
  }

  /** Returns the range of records created between two instants; null if it is empty. Requires ascending times. */
  #between(accountId: string, { before, after }: RecordSearch, whole: Span): Span | null {
    const first = after === null ? whole.first : this.#firstAfter.get(accountId, after)?.id
    const last = before === null ? whole.last : this.#lastBefore.get(accountId, before)?.id
    return first === undefined || last === undefined || first > last ? null : { first, last }
  }

  /** Yields the matches in a span, window by window. */
  *#look(question: RecordQuestion, filter: Searching, span: Span): Generator<Found> {
    const { oldestFirst } = filter.search
    for (const part of partsOf(span, oldestFirst)) {
      const few = this.#few(question, filter, part)
      if (few !== null) {
        yield few
        continue
      }
      for (const windows = new Windows(part, oldestFirst); windows.isMore; ) yield this.#next(question, filter, windows)
    }
  }

  /**
   * Returns all matches in a span if one of the words is rare. Returns null if no word is, or the span fits into one
   * window.
   */
  #few(question: RecordQuestion, { search }: Searching, { first, last }: Span): Found | null {
    if (last - first < WINDOW) return null
    const statements = search.oldestFirst ? this.#oldest : this.#newest
    const { isWhole, accepts } = question
    for (const word of question.required.slice(0, MOST_PROBED)) {
      const words = question.with(word)
      if (words !== word && this.#probe.all(word, first, last, FEW + 1).length > FEW) continue
      if (isWhole) {
        const rows = statements.rows.all(words, first, last, FEW + 1, 0)
        if (rows.length <= FEW) return foundOf(rows)
      } else {
        const read = statements.names.all(words, first, last, FEW + 1)
        if (read.length <= FEW) return this.#named(read.filter(accepts))
      }
    }
    return null
  }

  /** Returns the matches in the next window. */
  #next(question: RecordQuestion, { search }: Searching, windows: Windows): Found {
    const statements = search.oldestFirst ? this.#oldest : this.#newest
    const { words, isWhole, accepts } = question
    if (isWhole) {
      const { first, last } = windows.next()
      const count = this.#count.get(words, first, last)?.count ?? 0
      windows.found(count)
      return { count, rows: (limit, from) => statements.rows.all(words, first, last, limit, from) }
    }
    const { first, last } = windows.next()
    const read = statements.names.all(words, first, last, CHECKED_AT_ONCE)
    const end = read.at(-1)
    if (read.length === CHECKED_AT_ONCE && end !== undefined) windows.endAt(end.searchId)
    windows.found(read.length)
    return this.#named(read.filter(accepts))
  }

  #named(read: readonly { id: string }[]): Found {
    const rows = (limit: number, from: number): RecordRow[] =>
      read.slice(from, from + limit).flatMap(({ id }) => this.#records.get(id) ?? [])
    return { count: read.length, rows }
  }
}

function foundOf(rows: readonly RecordRow[]): Found {
  return { count: rows.length, rows: (limit, from) => rows.slice(from, from + limit) }
}

/** Yields the parts of a span that are probed for a rare word one after the other. */
function* partsOf({ first, last }: Span, oldestFirst: boolean): Generator<Span> {
  const parts = Math.ceil((last - first + 1) / PROBED)
  for (let i = 0; i < parts; i++) {
    if (oldestFirst) yield { first: first + i * PROBED, last: Math.min(last, first + (i + 1) * PROBED - 1) }
    else yield { first: Math.max(first, last - (i + 1) * PROBED + 1), last: last - i * PROBED }
  }
}

/** Iterates over a span, one window at a time. */
class Windows {
  readonly #oldestFirst: boolean
  #first: number
  #last: number
  #width = WINDOW

  constructor({ first, last }: Span, oldestFirst: boolean) {
    this.#first = first
    this.#last = last
    this.#oldestFirst = oldestFirst
  }

  get isMore(): boolean {
    return this.#first <= this.#last
  }

  next(): Span {
    const { first, last } = this.#window()
    if (this.#oldestFirst) this.#first = last + 1
    else this.#last = first - 1
    return { first, last }
  }

  /** Corrects the last window: only the numbers up to `id` were searched. */
  endAt(id: number): void {
    if (this.#oldestFirst) this.#first = id + 1
    else this.#last = id - 1
  }

  found(count: number): void {
    this.#width = count > MUCH ? WINDOW : Math.min(2 * this.#width, WIDEST_WINDOW)
  }

  #window(): Span {
    if (this.#oldestFirst) return { first: this.#first, last: Math.min(this.#last, this.#first + this.#width - 1) }
    return { first: Math.max(this.#first, this.#last - this.#width + 1), last: this.#last }
  }
}

function spanFrom({ first, last }: Span, after: number, oldestFirst: boolean): Span {
  return oldestFirst ? { first: Math.max(first, after + 1), last } : { first, last: Math.min(last, after - 1) }
}

interface FoundStatements {
  rows: Statement<SqlValue[], RecordRow>
  names: Statement<SqlValue[], CheckedRecord & { id: string; searchId: number }>
}

function prepare(db: Database, order: 'ASC' | 'DESC'): FoundStatements {
  const found = 'record_search MATCH ? AND record_search.rowid BETWEEN ? AND ?'
  const joined = 'record_search JOIN records ON records.search_id = record_search.rowid'
  const inOrder = `ORDER BY record_search.rowid ${order} LIMIT ?`
  return {
    rows: db.prepare(`
      SELECT ${RECORD_COLUMNS} FROM records JOIN (
        SELECT rowid AS found FROM record_search WHERE ${found} ${inOrder} OFFSET ?
      ) ON search_id = found ORDER BY found ${order}`),
    names: db.prepare(`
      SELECT records.id, search_id AS searchId, name, created_at AS createdAt, expires_at AS expiresAt FROM ${joined}
      WHERE ${found} ${inOrder}`),
  }
}
