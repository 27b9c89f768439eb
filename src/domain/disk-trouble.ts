import { causesOf } from './causes.ts'
import { isHoldfastError } from './errors.ts'

/**
 * Why a disk, or the process's way to it, failed an operation:
 * - `full`: no room, or no more within a disk quota;
 * - `short`: the process has too few descriptors, or too little memory, at the moment;
 * - `failed`: the file system is broken, gone, shut down or read-only.
 */
export type DiskTrouble = 'full' | 'short' | 'failed'

/** By the codes of `node:fs` and of SQLite. The one table of them. */
const TROUBLES: Readonly<Record<string, DiskTrouble>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  SQLITE_FULL: 'full',
  SQLITE_IOERR_SHMSIZE: 'full',
  EMFILE: 'short',
  ENFILE: 'short',
  ENOMEM: 'short',
  EAGAIN: 'short',
  // SQLite says no more than that it cannot open a file; the database itself is open by the time anybody asks.
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
/** LevelDB tells in words alone. */
const LEVEL_WORDS: ReadonlyArray<readonly [RegExp, DiskTrouble]> = [
  [/^IO error: .*: (No space left on device|Disk quota exceeded)$/, 'full'],
  [/^IO error: .*: Too many open files( in system)?$/, 'short'],
  [/^IO error: .*: (Input\/output error|Read-only file system|Structure needs cleaning)$/, 'failed'],
]

/**
 * Returns what an error, or one that caused it, says of the disk; null if it says nothing of it, or says that the outcome
 * is unknown: trouble of the disk means that nothing has happened.
 */
export function diskTrouble(error: unknown): DiskTrouble | null {
  return troublesOf(error).find(trouble => trouble !== null) ?? null
}

/** As {@link diskTrouble}, whether an error says anywhere that there is no room left on the disk. */
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
