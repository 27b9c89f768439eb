import { causesOf } from './causes.ts'
import { isHoldfastError } from './errors.ts'

/**
 * Kind of failure of a disk, or of the process's access to it:
 * - `full`: no room, or no more within a disk quota;
 * - `short`: the process has too few descriptors, or too little memory, at the moment;
 * - `failed`: the file system is broken, gone, shut down or read-only.
 */
export type DiskTrouble = 'full' | 'short' | 'failed'

/** Kinds by error code of `node:fs` and SQLite. */
const TROUBLES: Readonly<Record<string, DiskTrouble>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  SQLITE_FULL: 'full',
  SQLITE_IOERR_SHMSIZE: 'full',
  EMFILE: 'short',
  ENFILE: 'short',
  ENOMEM: 'short',
  EAGAIN: 'short',
  // SQLite cannot open another file, such as its journal; the database itself is open already.
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
/** LevelDB has no codes, only words. */
const LEVEL_WORDS: ReadonlyArray<readonly [RegExp, DiskTrouble]> = [
  [/^IO error: .*: (No space left on device|Disk quota exceeded)$/, 'full'],
  [/^IO error: .*: Too many open files( in system)?$/, 'short'],
  [/^IO error: .*: (Input\/output error|Read-only file system|Structure needs cleaning)$/, 'failed'],
]

/**
 * Returns the disk failure that an error or one of its causes reports; null if there is none or the outcome is unknown.
 * A disk failure means that nothing was written.
 */
export function diskTrouble(error: unknown): DiskTrouble | null {
  return troublesOf(error).find(trouble => trouble !== null) ?? null
}

/** Checks whether an error or one of its causes says that the disk is full. */
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
  // On a file system that was shut down, SQLite reads pages that were never written, and calls the database malformed.
  if (typeof code === 'string' && /^SQLITE_(IOERR|CORRUPT|NOTADB)/.test(code)) return 'failed'
  return LEVEL_WORDS.find(([words]) => words.test(message))?.[1] ?? null
}
