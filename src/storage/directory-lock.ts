import { closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { OWNERS_FILE } from '../disk/node-file-system.ts'
import { HoldfastError } from '../domain/errors.ts'

/** The file in a directory that its lock is on. It stays empty. */
export const LOCK = 'lock'
/** SQLite's codes for a file system that lets nobody write, so that nobody needs a lock. */
const READ_ONLY = /^SQLITE_(READONLY|CANTOPEN)/

/**
 * Locks a directory until the returned function is called or the process ends. SQLite takes the lock, by `fcntl`, so it
 * holds between processes and between callers of one process, and on NFS wherever that passes locks to its server.
 *
 * @param use `alone`: nobody else may use it; `together`: others may that only read
 * @returns null on a read-only file system
 * @throws HoldfastError `CONFLICT` while somebody else has it; the error of SQLite where there are no locks
 */
export function lockDirectory(directory: string, use: 'alone' | 'together'): (() => void) | null {
  let file: SqliteDatabase.Database | undefined
  try {
    const path = join(directory, LOCK)
    if (!existsSync(path)) closeSync(openSync(path, 'a', OWNERS_FILE))
    file = new SqliteDatabase(path, { timeout: 0 })
    // Nothing is written, so a killed process must not leave a journal.
    file.pragma('journal_mode = MEMORY')
    file.exec(use === 'alone' ? 'BEGIN EXCLUSIVE' : 'BEGIN; SELECT * FROM sqlite_schema')
    const locked = file
    return () => locked.close()
  } catch (error) {
    file?.close()
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (READ_ONLY.test(code) || code === 'EROFS' || code === 'EACCES') return null
    if (!code.startsWith('SQLITE_BUSY')) throw error
    const remedy = 'wait until the other backup, check or restore has ended'
    throw new HoldfastError('CONFLICT', `${directory} is in use by another process: ${remedy}`, { cause: error })
  }
}
