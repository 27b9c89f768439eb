import type { Database, Statement } from '../../storage/database.ts'
import { LIST_RECORDS } from '../../storage/search-function.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'

/** Records whose words one transaction brings into the index. */
const STEP = 50

/**
 * Keeps the index of words that records are found by. What changes a record only notes its number (`search_pending`, by
 * triggers), because a commit that writes to the index costs about as much for a hundred records as for one, and more
 * than all the rest of an upload. They are brought in together, once there are enough or before somebody searches.
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

  /** To be called when what a record is found by has changed. */
  changed(): void {
    this.#noted++
    if (this.#noted < STEP) return
    this.#noted = 0
    // What this cannot bring in, the next search does, and tells why it could not.
    const step = (): void => this.#step(0, Number.MAX_SAFE_INTEGER)
    this.#queue.run(step, { durable: false, patient: true }).catch(() => undefined)
  }

  /** Resolves once all of an account's records are in the index as they are. */
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
