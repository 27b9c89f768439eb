import { closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { OWNERS_FILE } from '../disk/node-file-system.ts'
import { HoldfastError } from '../domain/errors.ts'

/** The file stays empty. */
export const LOCK = 'lock'
/** Matches the error codes of SQLite on a read-only file system, which needs no lock. */
const READ_ONLY = /^SQLITE_(READONLY|CANTOPEN)/
/** The garbage collector closes a database that nothing refers to, and closing releases the lock. */
const held = new Set<SqliteDatabase.Database>()

/**
 * Locks a directory until the caller calls the returned function or the process ends.
 * The lock works between processes, and between callers in one process. On NFS, the client must forward locks to the
 * server.
 *
 * @param use `alone` for an exclusive lock; `together` for a shared lock
 * @returns the function that releases the lock; null on a read-only file system
 * @throws HoldfastError `CONFLICT` while another caller holds the lock; the error of SQLite on a file system without
 *   locks
 */
export function lockDirectory(directory: string, use: 'alone' | 'together'): (() => void) | null {
  let file: SqliteDatabase.Database | undefined
  try {
    const path = join(directory, LOCK)
    if (!existsSync(path)) closeSync(openSync(path, 'a', OWNERS_FILE))
    file = new SqliteDatabase(path, { timeout: 0 })
    // With a journal in memory, a killed process leaves no journal file.
    file.pragma('journal_mode = MEMORY')
    file.exec(use === 'alone' ? 'BEGIN EXCLUSIVE' : 'BEGIN; SELECT * FROM sqlite_schema')
    const locked = file
    held.add(locked)
    return () => {
      held.delete(locked)
      locked.close()
    }
  } catch (error) {
    file?.close()
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (READ_ONLY.test(code) || code === 'EROFS' || code === 'EACCES') return null
    if (!code.startsWith('SQLITE_BUSY')) throw error
    const remedy = 'wait until the other backup, check or restore ends'
    throw new HoldfastError('CONFLICT', `${directory} is in use by another process: ${remedy}`, { cause: error })
  }
}
