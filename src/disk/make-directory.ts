import { chmodSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileErrorCode } from '../domain/file-system.ts'
import { syncDirectoryNow } from './node-file-system.ts'

/**
 * Creates a directory and what is missing above it. Node's own `recursive` never returns where a file system answers
 * that an existing parent does not exist, as /proc does.
 *
 * @param mode of the directory itself, if it is created; what is above it is made as the process makes directories
 * @throws the error of the file system
 */
export function makeDirectory(path: string, mode?: number): void {
  if (tryMake(path, mode)) return
  makeDirectory(dirname(path))
  if (!tryMake(path, mode)) mkdirSync(path)
}

/** False if the parent is missing. */
function tryMake(path: string, mode: number | undefined): boolean {
  try {
    mkdirSync(path, mode)
    // The process's umask may have taken from it.
    if (mode !== undefined) chmodSync(path, mode)
    syncParent(path)
    return true
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EEXIST') return true
    if (code === 'ENOENT' && dirname(path) !== path) return false
    throw error
  }
}

/** Makes the new name survive a power cut, where whoever runs the node may read what it is in. */
function syncParent(path: string): void {
  try {
    syncDirectoryNow(dirname(path))
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EINVAL'].includes(fileErrorCode(error) ?? '')) throw error
  }
}
