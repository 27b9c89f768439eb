import type { Database, SqlValue, Statement } from '../../storage/database.ts'
import type { ListedRecord } from '../records.ts'
import type { BlockCount } from './block-counts.ts'
import type { TimedSpan } from './list-order.ts'
import { allOf, type Condition, type RecordQuestion } from './record-question.ts'
import { LISTED_COLUMNS } from './record-table.ts'
import type { SearchIndex } from './search-index.ts'

/** Maximum number of records with a rare word. One statement reads all these records. */
const FEW = 64
/** Maximum number of words of a question whose rarity is tested in each block. */
const MOST_PROBED = 8
const KEPT_STATEMENTS = 64

/** The part of a list in one block of the search index. */
export interface Block extends TimedSpan {
  number: number
  /** True if the part has all records of the block, and all of them lie within the time bounds. */
  isFull: boolean
  /** True if a record of the block has changed since its words were indexed. A kept count may then be wrong. */
  hasChanged: boolean
}

/** The matches in a block, in the order of the search. */
export interface BlockMatches {
  count: () => BlockCount
  rows: (limit: number, from: number) => ListedRecord[]
}

/**
 * Finds the records of a block that match a question.
 * The index of words finds the records with a rare word, and one statement compares them. In other cases, one statement
 * compares the names in the index `records_by_search`, which costs less than reading a word's entries and their
 * records. No statement trusts the words of a record that has changed since.
 */
export class BlockSearch {
  readonly #db: Database
  readonly #index: SearchIndex
  readonly #withWord: Statement<[string, number, number, number], { id: number }>
  readonly #prepared = new Map<string, Statement<SqlValue[], unknown>>()

  constructor(db: Database, index: SearchIndex) {
    this.#db = db
    this.#index = index
    this.#withWord = db.prepare(`
      SELECT rowid AS id FROM record_search WHERE record_search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid LIMIT ?`)
  }

  find(question: RecordQuestion, block: Block, oldestFirst: boolean): BlockMatches {
    const order = oldestFirst ? 'ASC' : 'DESC'
    const { first, last } = block
    const few = this.#few(question, block)
    if (few !== null) {
      const { text, params } = allOf([question.indexed, question.bounds, question.stored])
      const read = this.#prepare<ListedRecord>(`
        SELECT ${LISTED_COLUMNS} FROM records INDEXED BY records_by_search
        WHERE search_id IN (SELECT value FROM json_each(?)) AND ${text} ORDER BY search_id ${order}`)
      const rows = few.length === 0 ? [] : read.all(JSON.stringify(few), ...params)
      return {
        count: () => ({ count: rows.length, until: earliest(rows) }),
        rows: (limit, from) => rows.slice(from, from + limit),
      }
    }
    const { text, params } = allOf([
      question.indexed,
      block.isSure ? null : question.bounds,
      question.stored === null ? null : this.#storedIn(question, question.stored, block),
    ])
    const matching = `FROM records INDEXED BY records_by_search WHERE search_id BETWEEN ? AND ? AND ${text}`
    return {
      count: () => {
        const count = this.#prepare<BlockCount>(`SELECT COUNT(*) AS count, MIN(expires_at) AS until ${matching}`)
        return count.get(first, last, ...params) ?? { count: 0, until: null }
      },
      rows: (limit, from) =>
        this.#prepare<ListedRecord>(`
          SELECT ${LISTED_COLUMNS} FROM records INDEXED BY records_by_search
          WHERE search_id IN (SELECT search_id ${matching} ORDER BY search_id ${order} LIMIT ? OFFSET ?)
          ORDER BY search_id ${order}`).all(first, last, ...params, limit, from),
    }
  }

  /** Returns the ids of a block's records that can match, if a word of the question is rare; otherwise null. */
  #few(question: RecordQuestion, { number, first, last, hasChanged }: Block): number[] | null {
    const words = question.required(number).slice(0, MOST_PROBED)
    if (words.length === 0) return null
    const changed = hasChanged ? this.#index.pending(first, last, FEW + 1) : []
    if (changed.length > FEW) return null
    for (const word of words) {
      const found = this.#withWord.all(word, first, last, FEW + 1)
      if (found.length <= FEW) return [...new Set([...found, ...changed].map(({ id }) => id))]
    }
    return null
  }

  /** Looks the stored conditions up in the index of words, and compares only the records that have changed. */
  #storedIn(
    { query, isWhole }: RecordQuestion,
    { text, params }: Condition,
    { number, first, last }: Block,
  ): Condition {
    const found = `search_id IN (SELECT rowid FROM record_search WHERE record_search MATCH ? AND rowid BETWEEN ? AND ?)`
    return {
      text: `CASE WHEN search_id IN (SELECT search_id FROM search_pending) THEN ${text}
        ELSE ${found}${isWhole ? '' : ` AND ${text}`} END`,
      params: [...params, query(number), first, last, ...(isWhole ? [] : params)],
    }
  }

  #prepare<Row>(sql: string): Statement<SqlValue[], Row> {
    const known = this.#prepared.get(sql) ?? this.#db.prepare<SqlValue[]>(sql)
    this.#prepared.delete(sql)
    this.#prepared.set(sql, known)
    const [oldest] = this.#prepared.keys()
    if (this.#prepared.size > KEPT_STATEMENTS && oldest !== undefined) this.#prepared.delete(oldest)
    return known as Statement<SqlValue[], Row>
  }
}

function earliest(rows: readonly ListedRecord[]): number | null {
  return rows.reduce<number | null>((least, { expiresAt }) => {
    if (expiresAt === null) return least
    return least === null ? expiresAt : Math.min(least, expiresAt)
  }, null)
}
