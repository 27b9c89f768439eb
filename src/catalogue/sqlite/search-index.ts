import type { Database } from '../../storage/database.ts'
import { BLOCK_RECORDS } from '../../storage/search-function.ts'
import { WithStatements } from '../../storage/with-statements.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import { BlockCounts } from './block-counts.ts'

/** Maximum number of records whose words one transaction indexes. */
const STEP = 50
/** Maximum number of changed records whose words wait. From then on, each writer indexes as many as it changes. */
const MOST_PENDING = 2_000

/**
 * Updates the full-text index that searches read.
 * A trigger stores the numbers of changed records. Their words are indexed together, because a write to the index costs
 * about the same for one record as for a hundred. A search compares the changed records themselves, so it never waits
 * for the index.
 */
export class SearchIndex extends WithStatements {
  readonly counts = new BlockCounts()
  readonly #queue: WriteQueue
  readonly #pendingIn = this.db.prepare<[number, number, number], { id: number }>(`
    SELECT search_id AS id FROM search_pending WHERE search_id BETWEEN ? AND ? LIMIT ?`)
  readonly #isFull = this.db.prepare<[number]>('SELECT 1 FROM search_pending WHERE search_id >= 0 LIMIT 1 OFFSET ?')
  readonly #index = this.db.prepare<[number]>(`
    INSERT OR REPLACE INTO record_search (rowid, words)
    SELECT search_id, search_words(search_id, name, type, status, multihash, expires_at, meta)
    FROM records WHERE search_id = ?`)
  readonly #remove = this.db.prepare<[number]>('DELETE FROM record_search WHERE rowid = ?')
  readonly #done = this.db.prepare<[number]>('DELETE FROM search_pending WHERE search_id = ?')
  readonly #merge = this.db.prepare<[]>("INSERT INTO record_search (record_search, rank) VALUES ('merge', 64)")
  #noted = 0
  #isRunning = false

  constructor(db: Database, queue: WriteQueue) {
    super(db)
    this.#queue = queue
  }

  /**
   * Notes a change of a record in the current transaction. Indexes words when enough records have changed: soon, or in
   * this transaction if too many wait.
   */
  changed(): void {
    this.#noted++
    if (this.#noted < STEP) return
    this.#noted = 0
    if (this.#isFull.get(MOST_PENDING - STEP) !== undefined) this.#step()
    void this.catchUp(STEP)
  }

  /** Returns at most `limit` records between two search ids whose words in the index may be out of date. */
  pending(first: number, last: number, limit: number): Array<{ id: number }> {
    return this.#pendingIn.all(first, last, limit)
  }

  /** Indexes words until fewer than `enough` records wait. No search waits for it. */
  async catchUp(enough: number): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    try {
      while ((await this.#queue.run(() => this.#step(), { durable: false, patient: true })) >= enough);
    } catch {
      // A later change tries again. Searches are right without these words.
    } finally {
      this.#isRunning = false
    }
  }

  #step(): number {
    const pending = this.#pendingIn.all(0, Number.MAX_SAFE_INTEGER, STEP)
    for (const { id } of pending) {
      if (this.#index.run(id).changes === 0) this.#remove.run(id)
      this.#done.run(id)
      this.counts.changed(Math.floor(id / BLOCK_RECORDS))
    }
    if (pending.length > 0) this.#merge.run()
    return pending.length
  }
}
