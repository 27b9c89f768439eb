import { Database } from '../../src/storage/database.ts'

/**
 * Does the work of each transaction twice, the first time undone: as where one write of a batch throws, or the disk is
 * full. What work changes besides the database is then there twice.
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
