import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type SqliteDatabase from 'better-sqlite3'
import { OWNERS_FILE, syncDirectoryNow } from '../disk/node-file-system.ts'
import { migrations } from './migrations.ts'

/** Returns the names of the files that a migration may leave beside a database. */
export function keptCopies(file: string): string[] {
  return migrations.flatMap((_, version) => {
    const copy = keptCopyOf(file, version)
    return [copy, `${copy}.part`, `${copy}.part-journal`]
  })
}

export function keptCopyOf(file: string, version: number): string {
  return `${file}.schema-${version}`
}

/**
 * Copies a database to a file beside it, and syncs the copy. One rename replaces a copy that a killed migration has
 * left.
 *
 * @throws the error of SQLite or of the file system. The earlier copy then stays.
 */
export function keepCopy(sqlite: SqliteDatabase.Database, file: string, version: number): void {
  const copy = keptCopyOf(file, version)
  const unfinished = `${copy}.part`
  rmSync(unfinished, { force: true })
  try {
    copyInto(sqlite, unfinished)
    syncNow(unfinished)
    renameSync(unfinished, copy)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
  syncDirectoryNow(dirname(copy))
}

/** Copies a database to a file that does not exist. @throws the error of SQLite or of the file system */
export function copyInto(sqlite: SqliteDatabase.Database, path: string): void {
  makeOwnersFile(path)
  sqlite.prepare('VACUUM INTO ?').run(path)
}

/** Creates an empty file with mode 0600, because SQLite would create a file that all users can read. */
export function makeOwnersFile(path: string): void {
  closeSync(openSync(path, 'wx', OWNERS_FILE))
}

function syncNow(path: string): void {
  const opened = openSync(path, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}
