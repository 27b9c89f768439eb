import type { Database } from '../storage/database.ts'

/** The backend of the engine's own data directory. */
export const DEFAULT_BACKEND_ID = 0

/** The number under which the ledger knows the backend with this data directory; the first use gives it one. */
export function backendIdOf(db: Database, dataDir: string): number {
  return db.transaction(() => {
    const find = db.prepare<[string], { id: number }>('SELECT id FROM backends WHERE data_dir = ?')
    const found = find.get(dataDir)
    if (found !== undefined) return found.id
    const insert = db.prepare<[string], unknown>('INSERT INTO backends (data_dir) VALUES (?)')
    return Number(insert.run(dataDir).lastInsertRowid)
  })
}
