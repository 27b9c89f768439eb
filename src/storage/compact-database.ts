import { join, resolve } from 'node:path'
import { ownDataDirectory } from '../disk/data-directory.ts'
import { DATABASE } from '../disk/file-names.ts'
import { silentLogger } from '../domain/logger.ts'
import { Database } from './database.ts'

/**
 * Rewrites the database of a data directory without its free pages. Returns its size in bytes before and after.
 * A database created by version 0.1.0 never shrinks before its first compaction.
 *
 * @throws HoldfastError `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE` or `DATA_DIR_NEWER`; the error of SQLite if the disk is
 *   full
 * @example const { before, after } = await compactDatabase('/data')
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
