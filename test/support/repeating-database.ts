import { Database } from '../../src/storage/database.ts'

/**
 * Runs each transaction twice, and rolls the first run back, as a failed batch or a full disk would. Effects outside
 * the database then happen twice, which a test can see.
 */
export class RepeatingDatabase extends Database {
  override transaction<T>(work: () => T): T {
    if (this.inTransaction) return super.transaction(work)
    const undone = new Error('undone')
    try {
      super.transaction(() => {
        work()
        throw undone
      })
    } catch (error) {
      if (error !== undone) throw error
    }
    return super.transaction(work)
  }
}
