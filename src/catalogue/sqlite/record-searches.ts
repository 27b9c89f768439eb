import { nextTurn, turnSpent } from '../../domain/concurrency/turns.ts'
import type { Database, SqlValue, Statement } from '../../storage/database.ts'
import type { Page, PageRequest } from '../page.ts'
import type { RecordFilter, RecordRow, RecordSearch } from '../records.ts'
import { type LookedAt, questionOf, type RecordQuestion } from './record-question.ts'
import { LIVE, RECORD_COLUMNS, type RecordTable } from './record-table.ts'

type Searching = RecordFilter & { search: RecordSearch }

/** Numbers of a list that one statement looks through: few at first, more while they bring little. */
const WINDOW = 64 * 1024
const WIDEST_WINDOW = 256 * 1024
/** What is found in a window of which the next is no wider. */
const MUCH = 8 * 1024
/** Records that one statement reads to look at their names. */
const LOOKED_AT = 2_000
/** Where the numbers of a list begin. */
const LIST_RECORDS = 2 ** 32

/** A part of a list, both ends included. */
interface Span {
  first: number
  last: number
}

/** Records by what they are called, and what else they are found by; in the order in which they were recorded. */
export class RecordSearches {
  readonly #records: RecordTable
  readonly #list: Statement<[string], { number: number; last: number; disordered: 0 | 1 }>
  readonly #lastBefore: Statement<[string, number], { id: number }>
  readonly #firstAfter: Statement<[string, number], { id: number }>
  readonly #count: Statement<[string, number, number], { count: number }>
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
    this.#newest = prepare(db, 'DESC')
    this.#oldest = prepare(db, 'ASC')
  }

  /** Some of what is found, and how much there is in all. */
  async page(filter: Searching, offset: number, limit: number): Promise<{ rows: RecordRow[]; total: number }> {
    const question = this.#questionOf(filter)
    const rows: RecordRow[] = []
    let total = 0
    if (question !== null) {
      for (const windows = new Windows(question.span, filter.search.oldestFirst); windows.isMore; ) {
        const found = this.#look(question, filter, windows)
        const from = Math.max(0, offset - total)
        if (from < found.count && rows.length < limit) rows.push(...found.rows(limit - rows.length, from))
        total += found.count
        if (turnSpent()) await nextTurn()
      }
    }
    return { rows, total }
  }

  /** As {@link page}, without counting: a page goes on where the one before has ended. */
  async walk(filter: Searching, { after, limit }: PageRequest): Promise<Page<RecordRow>> {
    const question = this.#questionOf(filter)
    const found: RecordRow[] = []
    if (question === null) return { rows: found, next: null }
    const { oldestFirst } = filter.search
    const span = after === null ? question.span : spanFrom(question.span, Number(after), oldestFirst)
    const windows = new Windows(span, oldestFirst)
    while (windows.isMore && found.length <= limit) {
      found.push(...this.#look(question, filter, windows).rows(limit + 1 - found.length, 0))
      if (turnSpent()) await nextTurn()
    }
    const rows = found.slice(0, limit)
    const last = rows.at(-1)
    const id = last === undefined || found.length <= limit ? undefined : this.#records.searchId(last.id)
    return { rows, next: id === undefined ? null : String(id) }
  }

  /** Null if there can be nothing. */
  #questionOf(filter: Searching): (RecordQuestion & { span: Span }) | null {
    const { accountId, search } = filter
    const list = this.#list.get(accountId)
    if (list === undefined) return null
    const start = list.number * LIST_RECORDS
    const whole = { first: start, last: start + list.last }
    const span = list.disordered === 1 ? whole : this.#between(accountId, search, whole)
    if (span === null) return null
    const question = questionOf(list.number, filter)
    // Of what has expired and is still there the index does not know, and where time goes back each record is looked at.
    const isOver = this.#records.countExpired(accountId, filter.now) > 0
    const isWhole = question.isWhole && !isOver && list.disordered === 0
    return { ...question, isWhole, span }
  }

  /** The part of a list, in order of time, that was created between two instants. Null if it is empty. */
  #between(accountId: string, { before, after }: RecordSearch, whole: Span): Span | null {
    const first = after === null ? whole.first : this.#firstAfter.get(accountId, after)?.id
    const last = before === null ? whole.last : this.#lastBefore.get(accountId, before)?.id
    return first === undefined || last === undefined || first > last ? null : { first, last }
  }

  /** What one window has. */
  #look(question: RecordQuestion, { now, search }: Searching, windows: Windows) {
    const statements = search.oldestFirst ? this.#oldest : this.#newest
    const { words, isWhole, accepts } = question
    if (isWhole) {
      const { first, last } = windows.next()
      const count = this.#count.get(words, first, last)?.count ?? 0
      windows.found(count)
      const rows = (limit: number, from: number) => statements.rows.all(words, first, last, limit, from)
      return { count, rows }
    }
    const { first, last } = windows.next()
    const looked = statements.names.all(words, first, last, now, LOOKED_AT)
    const end = looked.at(-1)
    if (looked.length === LOOKED_AT && end !== undefined) windows.endAt(end.searchId)
    windows.found(looked.length)
    const ids = looked.filter(row => accepts(row)).map(({ id }) => id)
    const rows = (limit: number, from: number): RecordRow[] =>
      ids.slice(from, from + limit).flatMap(id => this.#records.get(id) ?? [])
    return { count: ids.length, rows }
  }
}

/** Goes through a span, a window at a time. */
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

  /** The window that was given out last has been looked through only up to a number. */
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
  names: Statement<SqlValue[], LookedAt & { id: string; searchId: number }>
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
      SELECT records.id, search_id AS searchId, name, created_at AS createdAt FROM ${joined}
      WHERE ${found} AND ${LIVE} ${inOrder}`),
  }
}
