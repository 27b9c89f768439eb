import type { Database, Statement } from '../../storage/database.ts'
import type { Census, StateCount } from '../census.ts'

/** How much is stored, from counters that triggers keep. */
export class CensusTable implements Census {
  readonly #counters: Statement<[], StateCount>
  readonly #size: Statement<[], { bytes: number }>

  constructor(db: Database) {
    this.#counters = db.prepare('SELECT kind, state, count, bytes FROM counters')
    this.#size = db.prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()')
  }

  counters(): StateCount[] {
    return this.#counters.all()
  }

  databaseBytes(): number {
    return this.#size.get()?.bytes ?? 0
  }
}
