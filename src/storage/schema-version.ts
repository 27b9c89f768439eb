import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { refuseUnfinishedRestore } from '../disk/data-directory.ts'
import { DATABASE } from '../disk/file-names.ts'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { migrations } from './migrations.ts'

/** Schema of a data directory, and the newest schema that this version of Holdfast knows. */
export interface SchemaVersion {
  version: number
  newest: number
}

const HEADER_BYTES = 100
const MAGIC = 'SQLite format 3\0'
const VERSION_AT = 60

/**
 * Reads the schema of a data directory from the header of its database. Opens no database, because SQLite would write
 * files beside it. A running server may have a newer schema in its log. Returns null without a database.
 * @throws HoldfastError `DATA_DIR_UNUSABLE` if the file is no database, or if a restore is unfinished
 * @example const isOlder = ((schema) => schema !== null && schema.version < schema.newest)(await readSchema('/data'))
 */
export async function readSchema(dataDir: string): Promise<SchemaVersion | null> {
  refuseUnfinishedRestore(dataDir)
  const path = join(dataDir, DATABASE)
  const newest = migrations.length
  try {
    const file = await open(path)
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0)
      // SQLite creates an empty file first.
      if (bytesRead === 0) return { version: 0, newest }
      if (bytesRead < HEADER_BYTES || buffer.toString('latin1', 0, MAGIC.length) !== MAGIC) {
        throw new HoldfastError('DATA_DIR_UNUSABLE', `${path} is not a SQLite database`)
      }
      return { version: buffer.readUInt32BE(VERSION_AT), newest }
    } finally {
      await file.close()
    }
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause
    if (fileErrorCode(cause) === 'ENOENT') return null
    throw new HoldfastError('DATA_DIR_UNUSABLE', `${path} cannot be read (${fileErrorCode(cause)})`, { cause })
  }
}
