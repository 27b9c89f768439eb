import type * as fs from 'node:fs'
import { DIRECT, OWNERS_FILE } from '../disk/node-file-system.ts'
import { fileErrorCode } from '../domain/file-system.ts'

export type BlockingFiles = Pick<typeof fs, 'openSync' | 'writeSync' | 'fdatasyncSync' | 'closeSync' | 'renameSync'>

/** Direct writes need whole pages. */
const PAGE_BYTES = 4_096
/** Error codes of a file system that cannot bypass the page cache, or cannot do so from this memory. */
const NOT_DIRECTLY: ReadonlySet<string> = new Set(['EINVAL', 'EOPNOTSUPP', 'ENOTSUP'])

/**
 * Writes a block to `temp`, syncs the file, and then renames the file to `path`. Whole pages bypass the page cache if
 * the file system allows it, because the copy would take most of the time.
 */
export function writeBlock(files: BlockingFiles, temp: string, path: string, bytes: Uint8Array): void {
  const isDirect = DIRECT !== null && bytes.length % PAGE_BYTES === 0 && writesDirectly(files, temp, bytes, DIRECT)
  if (!isDirect) writeFile(files, temp, 'w', bytes)
  files.renameSync(temp, path)
}

function writesDirectly(files: BlockingFiles, temp: string, bytes: Uint8Array, flags: number): boolean {
  try {
    writeFile(files, temp, flags, bytes)
    return true
  } catch (error) {
    if (!NOT_DIRECTLY.has(fileErrorCode(error) ?? '')) throw error
    return false
  }
}

function writeFile(files: BlockingFiles, temp: string, flags: string | number, bytes: Uint8Array): void {
  const file = files.openSync(temp, flags, OWNERS_FILE)
  try {
    for (let written = 0; written < bytes.length; ) {
      written += files.writeSync(file, bytes, written, bytes.length - written)
    }
    files.fdatasyncSync(file)
  } finally {
    files.closeSync(file)
  }
}
