import type { Database, Statement } from '../../storage/database.ts'
import { BLOCK_RECORDS, LIST_RECORDS } from '../../storage/search-function.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import { BlockCounts } from './block-counts.ts'
import { ExpiredWords } from './expired-words.ts'

/** Maximum number of records whose words one transaction indexes. */
const STEP = 50

/**
 * Updates the full-text index that searches read.
 * A trigger stores the numbers of changed records. Their words are indexed together, because a write to the index costs
 * about the same for one record as for a hundred.
 */
export class SearchIndex {
  readonly counts = new BlockCounts()
  readonly #queue: WriteQueue
  readonly #expired: ExpiredWords
  readonly #list: Statement<[string], { number: number }>
  readonly #pending: Statement<[number, number, number], { id: number }>
  readonly #index: Statement<[number], unknown>
  readonly #remove: Statement<[number], unknown>
  readonly #done: Statement<[number], unknown>
  readonly #merge: Statement<[], unknown>
  #noted = 0

  constructor(db: Database, queue: WriteQueue) {
    this.#queue = queue
    this.#expired = new ExpiredWords(db)
    this.#list = db.prepare('SELECT number FROM search_lists WHERE account_id = ?')
    this.#pending = db.prepare('SELECT search_id AS id FROM search_pending WHERE search_id BETWEEN ? AND ? LIMIT ?')
    this.#index = db.prepare(`
      INSERT OR REPLACE INTO record_search (rowid, words)
      SELECT search_id, search_words(search_id, r.name, type, status, multihash, expires_at, meta)
      FROM records r JOIN search_lists l ON l.account_id = r.account_id
      WHERE search_id = ? AND (expires_at IS NULL OR (expires_at, r.rowid) > (expired_until, expired_row))`)
    this.#remove = db.prepare('DELETE FROM record_search WHERE rowid = ?')
    this.#done = db.prepare('DELETE FROM search_pending WHERE search_id = ?')
    this.#merge = db.prepare("INSERT INTO record_search (record_search, rank) VALUES ('merge', 64)")
  }

  /** Starts indexing when the words of enough records have changed. */
  changed(): void {
    this.#noted++
    if (this.#noted < STEP) return
    this.#noted = 0
    // If a step fails, the next search repeats it and reports the error.
    const step = (): void => this.#step(0, Number.MAX_SAFE_INTEGER)
    this.#queue.run(step, { durable: false, patient: true }).catch(() => undefined)
  }

  /** Resolves when the index contains exactly the words of the account's records that are live at `now`. */
  async update(accountId: string, now: number): Promise<void> {
    const list = this.#list.get(accountId)
    if (list === undefined) return
    const first = list.number * LIST_RECORDS
    const last = first + LIST_RECORDS - 1
    while (this.#expired.isBehind(accountId, now)) {
      await this.#queue.run(() => this.#expired.step(accountId, now), { durable: false })
    }
    while (this.#pending.get(first, last, 1) !== undefined) {
      await this.#queue.run(() => this.#step(first, last), { durable: false })
    }
  }

  #step(first: number, last: number): void {
    const pending = this.#pending.all(first, last, STEP)
    for (const { id } of pending) {
      if (this.#index.run(id).changes === 0) this.#remove.run(id)
      this.#done.run(id)
      this.counts.changed(Math.floor(id / BLOCK_RECORDS))
    }
    if (pending.length > 0) this.#merge.run()
  }
}
