const CODES = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE'])
/** LevelDB tells in words alone. */
const LEVEL_WORDS = /^IO error: .*: (No space left on device|Disk quota exceeded)$/
const DEEPEST_CAUSE = 8

/** Whether an error, or one that caused it, says that there is no room left on the disk. */
export function isDiskFull(error: unknown): boolean {
  for (let current = error, depth = 0; current instanceof Error && depth < DEEPEST_CAUSE; depth++) {
    if ('code' in current && typeof current.code === 'string' && CODES.has(current.code)) return true
    if (LEVEL_WORDS.test(current.message)) return true
    current = current.cause
  }
  return false
}
