import { randomBytes } from 'node:crypto'
import { basename, dirname } from 'node:path'
import { HoldfastError } from '../domain/errors.ts'
import type { FileSystem } from '../domain/file-system.ts'
import { nodeFileSystem } from './node-file-system.ts'

/**
 * Replaces a file atomically: after a power cut, it has either the old text or the new text.
 * @param options.temporary path of a file for the new text, on the same file system; default: beside the file
 * @throws HoldfastError `OUTCOME_UNKNOWN` if the directory could not be synced. After any other error, the file is
 * unchanged.
 */
export async function replaceFile(
  path: string,
  text: string,
  options: { files?: FileSystem; temporary?: string } = {},
): Promise<void> {
  const { files = nodeFileSystem, temporary = `${path}.${randomBytes(6).toString('hex')}` } = options
  try {
    const file = await files.create(temporary)
    try {
      await file.write(Buffer.from(text))
      await file.datasync()
    } finally {
      await file.close()
    }
    await files.rename(temporary, path)
  } catch (error) {
    await files.unlink(temporary).catch(() => undefined)
    throw error
  }
  try {
    await files.syncDirectory(dirname(path))
  } catch (cause) {
    const message = `the disk failed to sync the replaced ${basename(path)}: the new text is in place, but a power cut may undo it`
    throw new HoldfastError('OUTCOME_UNKNOWN', message, { cause })
  }
}
