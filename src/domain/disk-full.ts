import { causesOf } from './causes.ts'

const CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE'])
/** LevelDB tells in words alone. */
const LEVEL_WORDS = /^IO error: .*: (No space left on device|Disk quota exceeded)$/

/** Whether an error, or one that caused it, says that there is no room left on the disk. */
export function isDiskFull(error: unknown): boolean {
  return causesOf(error).some(({ code, message }) => CODES.has(code) || LEVEL_WORDS.test(message))
}
