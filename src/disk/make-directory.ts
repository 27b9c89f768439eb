import { chmodSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { HoldfastError } from '../domain/errors.ts'
import { fileErrorCode } from '../domain/file-system.ts'
import { OWNERS_DIRECTORY, syncDirectoryNow } from './node-file-system.ts'

/**
 * Creates a directory and its missing parents. The option `recursive` of Node.js never returns if the file system, such
 * as `/proc`, reports an existing parent as missing.
 * @param mode mode of the directory if it is created; parents get the default mode of the process
 * @throws the error of the file system
 */
export function makeDirectory(path: string, mode?: number): void {
  if (tryMake(path, mode)) return
  makeDirectory(dirname(path))
  if (!tryMake(path, mode)) mkdirSync(path)
}

/**
 * Creates a directory that a user has named, and its missing parents.
 * @param field name of the option, for the error
 * @throws HoldfastError `VALIDATION` if the directory cannot be created or read
 */
export function makeNamedDirectory(field: string, path: string): void {
  try {
    makeDirectory(path, OWNERS_DIRECTORY)
    readdirSync(path)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new HoldfastError('VALIDATION', `${field}: ${path} cannot be used: ${reason}`, { cause })
  }
}

/** Returns false if the parent is missing. */
function tryMake(path: string, mode: number | undefined): boolean {
  try {
    mkdirSync(path, mode)
    // The umask of the process may have cleared some bits of the mode.
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

/** Makes the new name survive a power cut. Does nothing without permission to open the parent directory. */
function syncParent(path: string): void {
  try {
    syncDirectoryNow(dirname(path))
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EINVAL'].includes(fileErrorCode(error) ?? '')) throw error
  }
}
