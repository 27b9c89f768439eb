import type { Database } from '../storage/database.ts'
import { WithStatements } from '../storage/with-statements.ts'
import type { WriteQueue } from '../storage/write-queue.ts'

export interface VerificationState {
  /** Last checked block; 0 between two rounds. */
  lastBlock: number
  /** Blocks checked in the current round; between two rounds, in the last round. */
  blocks: number
  damaged: number
  /** End of the last round in ms since the epoch; before the first round ends, the time of the first start. */
  endedAt: number
}

/** Stores the progress of verification across restarts. */
export class VerificationProgress extends WithStatements {
  readonly #get = this.db.prepare<[], VerificationState>(`
    SELECT last_block AS lastBlock, blocks, damaged, ended_at AS endedAt FROM verification WHERE id = 1`)
  readonly #set = this.db.prepare<[number, number, number, number]>(`
    INSERT OR REPLACE INTO verification (id, last_block, blocks, damaged, ended_at) VALUES (1, ?, ?, ?, ?)`)
  readonly #queue: WriteQueue

  constructor(db: Database, queue: WriteQueue) {
    super(db)
    this.#queue = queue
  }

  /** Returns undefined before the first start. */
  get(): VerificationState | undefined {
    return this.#get.get()
  }

  async set({ lastBlock, blocks, damaged, endedAt }: VerificationState): Promise<void> {
    await this.#queue.run(() => this.#set.run(lastBlock, blocks, damaged, endedAt), { durable: false })
  }
}
