import { WithStatements } from '../../storage/with-statements.ts'
import type { Census, StateCount } from '../census.ts'

export class CensusTable extends WithStatements implements Census {
  readonly #counters = this.db.prepare<[], StateCount>('SELECT kind, state, count, bytes FROM counters')
  readonly #oldestRunning = this.db.prepare<[], { created_at: number }>(`
    SELECT r.created_at FROM fetches f INDEXED BY fetches_running CROSS JOIN roots r ON r.id = f.root_id
    WHERE f.running = 1 ORDER BY f.id LIMIT 1`)
  // This query reads few rows, because only running fetches have a job without a due time.
  readonly #oldestWaiting = this.db.prepare<[], { created_at: number }>(`
    SELECT r.created_at FROM jobs j CROSS JOIN fetches f ON f.id = j.key CROSS JOIN roots r ON r.id = f.root_id
    WHERE j.kind = 'fetch' AND j.due_at IS NOT NULL ORDER BY j.key LIMIT 1`)
  readonly #size = this.db.prepare<[], { bytes: number }>(`
    SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()`)

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
