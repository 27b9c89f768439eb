import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type SqliteDatabase from 'better-sqlite3'
import { OWNERS_FILE, syncDirectoryNow } from '../disk/node-file-system.ts'

/** Where the database of an older schema is kept when it is migrated. */
export function keptCopyOf(file: string, version: number): string {
  return `${file}.schema-${version}`
}

/**
 * Copies a database beside it, on the disk before this returns. Replaces an earlier copy of the same schema by one rename:
 * a migration that did not end has left that copy, and the older version may have written since.
 *
 * @throws the error of SQLite or of the file system, as on a full disk; the earlier copy then stays
 */
export function keepCopy(sqlite: SqliteDatabase.Database, file: string, version: number): void {
  const copy = keptCopyOf(file, version)
  const unfinished = `${copy}.part`
  rmSync(unfinished, { force: true })
  makeOwnersFile(unfinished)
  try {
    sqlite.prepare('VACUUM INTO ?').run(unfinished)
    syncNow(unfinished)
    renameSync(unfinished, copy)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
  syncDirectoryNow(dirname(copy))
}

/** Makes an empty file for a copy, since SQLite would let everybody read what it makes itself. */
export function makeOwnersFile(path: string): void {
  closeSync(openSync(path, 'wx', OWNERS_FILE))
}

/** Returns once a file is on the disk. */
export function syncNow(path: string): void {
  const opened = openSync(path, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}
