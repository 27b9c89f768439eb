import type { Database, Statement } from '../../storage/database.ts'
import { LIST_RECORDS } from '../../storage/search-function.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'

/** Number of records that one transaction adds to the index. */
const STEP = 50

/**
 * Maintains the full-text index of records. Writing to the index costs a transaction about as much for a hundred
 * records as for one, and more than the rest of an upload. So triggers only note the numbers of changed records in
 * `search_pending`. They are indexed in batches: when enough have changed, or before a search.
 */
export class SearchIndex {
  readonly #queue: WriteQueue
  readonly #list: Statement<[string], { number: number }>
  readonly #pending: Statement<[number, number, number], { id: number }>
  readonly #isThere: Statement<[number], unknown>
  readonly #bring: Statement<[number], unknown>
  readonly #remove: Statement<[number], unknown>
  readonly #done: Statement<[number], unknown>
  readonly #merge: Statement<[], unknown>
  #noted = 0

  constructor(db: Database, queue: WriteQueue) {
    this.#queue = queue
    this.#list = db.prepare('SELECT number FROM search_lists WHERE account_id = ?')
    this.#pending = db.prepare('SELECT search_id AS id FROM search_pending WHERE search_id BETWEEN ? AND ? LIMIT ?')
    this.#isThere = db.prepare('SELECT 1 FROM records WHERE search_id = ?')
    this.#bring = db.prepare(`
      INSERT OR REPLACE INTO record_search (rowid, words)
      SELECT search_id, search_words(search_id, name, type, status, multihash, expires_at, meta)
      FROM records WHERE search_id = ?`)
    this.#remove = db.prepare('DELETE FROM record_search WHERE rowid = ?')
    this.#done = db.prepare('DELETE FROM search_pending WHERE search_id = ?')
    this.#merge = db.prepare("INSERT INTO record_search (record_search, rank) VALUES ('merge', 64)")
  }

  /** Counts a change of a record's search words. Indexes a batch after every {@link STEP} changes. */
  changed(): void {
    this.#noted++
    if (this.#noted < STEP) return
    this.#noted = 0
    // A failure is harmless: the next search indexes the batch and reports the error.
    const step = (): void => this.#step(0, Number.MAX_SAFE_INTEGER)
    this.#queue.run(step, { durable: false, patient: true }).catch(() => undefined)
  }

  /** Resolves once the index has all changes of an account's records. */
  async bringIn(accountId: string): Promise<void> {
    const list = this.#list.get(accountId)
    if (list === undefined) return
    const first = list.number * LIST_RECORDS
    const last = first + LIST_RECORDS - 1
    while (this.#pending.get(first, last, 1) !== undefined) {
      await this.#queue.run(() => this.#step(first, last), { durable: false })
    }
  }

  #step(first: number, last: number): void {
    const pending = this.#pending.all(first, last, STEP)
    for (const { id } of pending) {
      if (this.#isThere.get(id) === undefined) this.#remove.run(id)
      else this.#bring.run(id)
      this.#done.run(id)
    }
    if (pending.length > 0) this.#merge.run()
  }
}
