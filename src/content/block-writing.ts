import type * as fs from 'node:fs'
import { OWNERS_FILE } from '../disk/file-system.ts'

/** What a thread writes a block with: `node:fs`, or that part of it. */
export type BlockingFiles = Pick<typeof fs, 'openSync' | 'writeSync' | 'fdatasyncSync' | 'closeSync' | 'renameSync'>

/** Writes a block to `temp`, syncs it, and only then gives it its name: what has the name is whole. */
export function writeBlock(files: BlockingFiles, temp: string, path: string, bytes: Uint8Array): void {
  const file = files.openSync(temp, 'wx', OWNERS_FILE)
  try {
    for (let written = 0; written < bytes.length; ) {
      written += files.writeSync(file, bytes, written, bytes.length - written)
    }
    files.fdatasyncSync(file)
  } finally {
    files.closeSync(file)
  }
  files.renameSync(temp, path)
}
