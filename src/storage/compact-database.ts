import { join, resolve } from 'node:path'
import { ownDataDirectory } from '../disk/data-directory.ts'
import { DATABASE } from '../disk/file-names.ts'
import { silentLogger } from '../domain/logger.ts'
import { Database } from './database.ts'

/**
 * Writes the database of a data directory anew without its free pages, in bytes before and after. Databases of 0.1.0 keep
 * theirs until this has been done once. No engine may be using the directory.
 *
 * @throws HoldfastError `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`, `DATA_DIR_NEWER`; the error of SQLite on a full disk
 */
export async function compactDatabase(dataDir: string): Promise<{ before: number; after: number }> {
  const directory = resolve(dataDir)
  const owned = await ownDataDirectory(directory, silentLogger)
  try {
    const database = new Database(join(directory, DATABASE))
    try {
      return database.compact()
    } finally {
      database.close()
    }
  } finally {
    await owned.close()
  }
}
