import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE } from '../../src/disk/file-names.ts'
import { Database } from '../../src/storage/database.ts'
import { writeEmptyDatabase } from '../../src/storage/empty-database.ts'

/** Creates the database of a directory from a copy of the newest schema, and opens it. The caller closes it. */
export function newDatabase<T extends Database = Database>(
  dataDir: string,
  DatabaseClass: new (file: string) => T = Database as new (
    file: string,
  ) => T,
): T {
  const file = join(dataDir, DATABASE)
  writeEmptyDatabase(file)
  return new DatabaseClass(file)
}

/** Writes an empty database into a data directory without one, so that a start runs no migrations. Returns the directory. */
export function newDirectory(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, DATABASE)
  if (!existsSync(file)) writeEmptyDatabase(file)
  return dataDir
}
