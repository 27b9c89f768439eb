import { causesOf } from './causes.ts'
import { isHoldfastError } from './errors.ts'

/**
 * Kinds of disk failure:
 * - `full`: the disk has no space, or a disk quota is exhausted;
 * - `short`: the process has too few file handles or too little memory at the moment;
 * - `failed`: the file system is broken, missing, shut down or read-only.
 */
export type DiskTrouble = 'full' | 'short' | 'failed'

/** By error code of `node:fs` and SQLite. */
const TROUBLES: Readonly<Record<string, DiskTrouble>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  SQLITE_FULL: 'full',
  SQLITE_IOERR_SHMSIZE: 'full',
  EMFILE: 'short',
  ENFILE: 'short',
  ENOMEM: 'short',
  EAGAIN: 'short',
  // SQLite cannot open another file, such as its journal. The database file itself is already open.
  SQLITE_CANTOPEN: 'short',
  EIO: 'failed',
  EROFS: 'failed',
  ESHUTDOWN: 'failed',
  ENODEV: 'failed',
  ENXIO: 'failed',
  ENOMEDIUM: 'failed',
  EREMOTEIO: 'failed',
  ESTALE: 'failed',
  EUCLEAN: 'failed',
  ENOTCONN: 'failed',
  SQLITE_READONLY: 'failed',
}
/** Disk troubles by error message of LevelDB, which has no error codes. */
const LEVEL_WORDS: ReadonlyArray<readonly [RegExp, DiskTrouble]> = [
  [/^IO error: .*: (No space left on device|Disk quota exceeded)$/, 'full'],
  [/^IO error: .*: Too many open files( in system)?$/, 'short'],
  [/^IO error: .*: (Input\/output error|Read-only file system|Structure needs cleaning)$/, 'failed'],
]

/**
 * Returns the disk failure that an error or one of its causes reports, which means that nothing was written. Returns
 * null for any other error, or if the outcome is unknown.
 */
export function diskTrouble(error: unknown): DiskTrouble | null {
  return troublesOf(error).find(trouble => trouble !== null) ?? null
}

export function isDiskFull(error: unknown): boolean {
  return troublesOf(error).includes('full')
}

function troublesOf(error: unknown): (DiskTrouble | null)[] {
  if (isHoldfastError(error, 'OUTCOME_UNKNOWN')) return []
  return causesOf(error).map(({ code, message }) => troubleOf(code, message))
}

function troubleOf(code: unknown, message: string): DiskTrouble | null {
  const known = typeof code === 'string' ? TROUBLES[code] : undefined
  if (known !== undefined) return known
  // On a file system that was shut down, SQLite reads pages that were never written, and reports a malformed database.
  if (typeof code === 'string' && /^SQLITE_(IOERR|CORRUPT|NOTADB)/.test(code)) return 'failed'
  return LEVEL_WORDS.find(([words]) => words.test(message))?.[1] ?? null
}
