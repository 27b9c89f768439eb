import { randomBytes } from 'node:crypto'
import { basename, dirname } from 'node:path'
import { HoldfastError } from '../domain/errors.ts'
import type { FileSystem } from '../domain/file-system.ts'
import { nodeFileSystem } from './node-file-system.ts'

/**
 * Gives a file another text. Either the old one is there or the new one, whenever the power goes.
 *
 * @param options `temporary` is where the new text is written, on the same file system; default: beside the file
 * @throws HoldfastError `OUTCOME_UNKNOWN` if the directory could not be synced; any other error if nothing has changed
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
    const message = `the disk failed while ${basename(path)} was replaced: it is the new file, and a power cut may undo that`
    throw new HoldfastError('OUTCOME_UNKNOWN', message, { cause })
  }
}
