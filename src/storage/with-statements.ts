import type { Database } from './database.ts'

/** Class whose fields are prepared statements. They are initialised after this constructor. */
export class WithStatements {
  protected readonly db: Database

  constructor(db: Database) {
    this.db = db
  }
}
