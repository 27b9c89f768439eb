import type * as fs from 'node:fs'
import { DIRECT, OWNERS_FILE } from '../disk/node-file-system.ts'
import { fileErrorCode } from '../domain/file-system.ts'

/** What a thread writes a block with: `node:fs`, or that part of it. */
export type BlockingFiles = Pick<typeof fs, 'openSync' | 'writeSync' | 'fdatasyncSync' | 'closeSync' | 'renameSync'>

/** Of this size are the pages of memory that disks take bytes from. */
const PAGE_BYTES = 4_096
/** What a file system says that does not write past the page cache, or not from where the bytes lie. */
const NOT_DIRECTLY: ReadonlySet<string> = new Set(['EINVAL', 'EOPNOTSUPP', 'ENOTSUP'])

/**
 * Writes a block to `temp`, syncs it, and only then gives it its name: what has the name is whole. Whole pages go past
 * the page cache if the file system can do that: the sync waits for the disk either way, and the copy would be most of
 * the work.
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
