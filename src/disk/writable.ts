import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Checks that the user may write a directory, or create it in its nearest parent.
 *
 * @throws the error of the file system
 */
export function checkWritable(path: string): void {
  const present = existsSync(path) || dirname(path) === path
  if (!present) {
    checkWritable(dirname(path))
    return
  }
  readdirSync(path)
  accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
}
