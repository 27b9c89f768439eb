import type { Database, Statement } from '../../storage/database.ts'
import type { Census, StateCount } from '../census.ts'

/** How much is stored, from counters that triggers keep. */
export class CensusTable implements Census {
  readonly #counters: Statement<[], StateCount>
  readonly #oldestRunning: Statement<[], { created_at: number }>
  readonly #oldestWaiting: Statement<[], { created_at: number }>
  readonly #size: Statement<[], { bytes: number }>

  constructor(db: Database) {
    this.#counters = db.prepare('SELECT kind, state, count, bytes FROM counters')
    const oldest = (index: string, condition: string): Statement<[], { created_at: number }> =>
      db.prepare(`
        SELECT r.created_at FROM fetches f INDEXED BY ${index} CROSS JOIN roots r ON r.id = f.root_id
        WHERE ${condition} ORDER BY f.id LIMIT 1`)
    this.#oldestRunning = oldest('fetches_running', 'f.running = 1')
    this.#oldestWaiting = oldest('fetches_waiting', 'f.next_attempt_at IS NOT NULL')
    this.#size = db.prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()')
  }

  async counters(): Promise<StateCount[]> {
    return this.#counters.all()
  }

  async oldestFetchAt(): Promise<number | null> {
    const instants = [this.#oldestRunning.get(), this.#oldestWaiting.get()].flatMap(row => row?.created_at ?? [])
    return instants.length === 0 ? null : Math.min(...instants)
  }

  databaseBytes(): number {
    return this.#size.get()?.bytes ?? 0
  }
}
