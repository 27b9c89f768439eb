import type { Database } from './database.ts'

interface QueuedWrite {
  work: () => unknown
  durable: boolean
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

/** A batch ends when it has taken this long, so that no transaction holds up the event loop. */
const BATCH_MS = 3

/**
 * The write side of the store, with group commit: what arrives together shares one transaction and, if any of it
 * asks to be durable, one sync. Each write is a savepoint of its own, so one that throws undoes only itself.
 * Callers see promises only, which is what lets the queue move to a worker thread.
 */
export class WriteQueue {
  readonly #db: Database
  #waiting: QueuedWrite[] = []
  #scheduled = false

  constructor(db: Database) {
    this.#db = db
  }

  /** Resolves with what `work` returned, once that is committed (`durable`: and synced). */
  run<T>(work: () => T, options: { durable: boolean }): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, durable: options.durable, resolve: resolve as (value: unknown) => void, reject })
      this.#schedule()
    })
  }

  /** Resolves when everything queued so far is committed. */
  async settled(): Promise<void> {
    while (this.#waiting.length > 0) await this.run(() => undefined, { durable: false })
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#commitBatch()
      if (this.#waiting.length > 0) this.#schedule()
    })
  }

  #commitBatch(): void {
    const settle: Array<() => void> = []
    let taken = 0
    try {
      this.#db.setDurable(this.#waiting.some(write => write.durable))
      this.#db.transaction(() => {
        const until = performance.now() + BATCH_MS
        for (const write of this.#waiting) {
          taken++
          settle.push(this.#attempt(write))
          if (performance.now() > until) break
        }
      })
    } catch (error) {
      // The transaction itself failed, so nothing of the batch happened.
      const failed = this.#waiting.splice(0, Math.max(taken, 1))
      for (const write of failed) write.reject(error)
      return
    }
    this.#waiting.splice(0, taken)
    for (const done of settle) done()
  }

  #attempt(write: QueuedWrite): () => void {
    try {
      const value = this.#db.transaction(write.work)
      return () => write.resolve(value)
    } catch (error) {
      if (!this.#db.inTransaction) throw error
      return () => write.reject(error)
    }
  }
}
