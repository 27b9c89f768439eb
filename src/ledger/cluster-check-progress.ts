import type { Database } from '../storage/database.ts'
import { WithStatements } from '../storage/with-statements.ts'
import type { WriteQueue } from '../storage/write-queue.ts'

export interface ClusterCheck {
  /** The location of the backend at this check. */
  place: string
  /** In ms since the epoch. */
  beganAt: number
  /** Last placement that was checked; null if the check has ended. */
  lastPlacement: number | null
}

/** Stores the progress of the checks of external backends across restarts. */
export class ClusterCheckProgress extends WithStatements {
  readonly #get = this.db.prepare<[number], ClusterCheck>(`
    SELECT place, began_at AS beganAt, last_placement AS lastPlacement FROM cluster_checks WHERE backend_id = ?`)
  readonly #set = this.db.prepare<[number, string, number, number | null]>(`
    INSERT OR REPLACE INTO cluster_checks (backend_id, place, began_at, last_placement) VALUES (?, ?, ?, ?)`)
  readonly #queue: WriteQueue

  constructor(db: Database, queue: WriteQueue) {
    super(db)
    this.#queue = queue
  }

  /** Returns undefined if the backend was never checked. */
  get(backendId: number): ClusterCheck | undefined {
    return this.#get.get(backendId)
  }

  async set(backendId: number, { place, beganAt, lastPlacement }: ClusterCheck): Promise<void> {
    await this.#queue.run(() => this.#set.run(backendId, place, beganAt, lastPlacement), { durable: false })
  }
}
