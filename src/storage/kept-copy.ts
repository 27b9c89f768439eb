import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type SqliteDatabase from 'better-sqlite3'
import { OWNERS_FILE, syncDirectoryNow } from '../disk/node-file-system.ts'

/** Returns the path of the copy that a migration keeps of the database with the older schema. */
export function keptCopyOf(file: string, version: number): string {
  return `${file}.schema-${version}`
}

/**
 * Copies a database to a file beside it, and syncs the copy. Replaces an earlier copy of the same schema by one rename.
 * A killed migration left it, and the older version may have written since.
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

/** Creates an empty file with mode 0600 for a copy, since files that SQLite creates are readable for everybody. */
export function makeOwnersFile(path: string): void {
  closeSync(openSync(path, 'wx', OWNERS_FILE))
}

/** Syncs a file and blocks until it is done. */
function syncNow(path: string): void {
  const opened = openSync(path, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}
