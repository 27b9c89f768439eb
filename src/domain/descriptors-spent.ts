import { causesOf } from './causes.ts'

/** SQLite says no more than that it cannot open a file; the database itself is open by the time anybody asks. */
const CODES: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'SQLITE_CANTOPEN'])
/** LevelDB tells in words alone. */
const LEVEL_WORDS = /^IO error: .*: Too many open files( in system)?$/

/** Whether an error, or one that caused it, says that the process has no file descriptors left for now. */
export function areDescriptorsSpent(error: unknown): boolean {
  return causesOf(error).some(({ code, message }) => CODES.has(code) || LEVEL_WORDS.test(message))
}
