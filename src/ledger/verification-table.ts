import type { Database, Statement } from '../storage/database.ts'
import type { WriteQueue } from '../storage/write-queue.ts'

/** How far a round of verification has come. */
export interface VerificationState {
  /** Id of the last block that was checked; 0 between two rounds. */
  lastBlock: number
  /** Checked in this round, or in all of the last one. */
  blocks: number
  damaged: number
  /** When the last round ended, or the first start was, in milliseconds since the epoch. */
  endedAt: number
}

/** The row of `verification`. */
export class VerificationTable {
  readonly #get: Statement<[], VerificationState>
  readonly #set: Statement<[number, number, number, number], unknown>
  readonly #queue: WriteQueue

  constructor(db: Database, queue: WriteQueue) {
    this.#get = db.prepare(
      'SELECT last_block AS lastBlock, blocks, damaged, ended_at AS endedAt FROM verification WHERE id = 1',
    )
    this.#set = db.prepare(
      'INSERT OR REPLACE INTO verification (id, last_block, blocks, damaged, ended_at) VALUES (1, ?, ?, ?, ?)',
    )
    this.#queue = queue
  }

  /** Undefined before the first start. */
  get(): VerificationState | undefined {
    return this.#get.get()
  }

  set({ lastBlock, blocks, damaged, endedAt }: VerificationState): Promise<unknown> {
    return this.#queue.run(() => this.#set.run(lastBlock, blocks, damaged, endedAt), { durable: false })
  }
}
