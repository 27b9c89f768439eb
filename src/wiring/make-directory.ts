import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a directory and what is missing above it. Node's own `recursive` never returns where a file system answers
 * that an existing parent does not exist, as /proc does.
 *
 * @throws the error of the file system
 */
export function makeDirectory(path: string): void {
  if (tryMake(path)) return
  makeDirectory(dirname(path))
  if (!tryMake(path)) mkdirSync(path)
}

/** False if the parent is missing. */
function tryMake(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EEXIST') return true
    if (code === 'ENOENT' && dirname(path) !== path) return false
    throw error
  }
}
