import { randomBytes } from 'node:crypto'
import { open, rename, rm, stat } from 'node:fs/promises'
import { HoldfastError } from '../../src/domain/errors.ts'
import { unwritable } from './local-files.ts'
import { printable } from './printed-text.ts'
import { ProgressBar } from './progress-bar.ts'
import { untilInterrupted } from './until-interrupted.ts'

/**
 * Writes a file durably and completely, or leaves no file. Returns the size in bytes.
 * @param mode permissions of the new file, of which the umask takes its part
 * @throws HoldfastError `INVALID_PATH` if the file cannot be written, or if the path is a directory or a device
 */
export function writeWhole(path: string, pieces: AsyncIterable<Uint8Array>, mode: number): Promise<number> {
  return untilInterrupted(pieces, given => writePieces(path, given, mode))
}

async function writePieces(path: string, pieces: AsyncIterable<Uint8Array>, mode: number): Promise<number> {
  const entry = await stat(path).catch(() => null)
  if (entry?.isFile() === false) throw new HoldfastError('INVALID_PATH', `${printable(path)} is not a file`)
  const unfinished = `${path}.part-${randomBytes(6).toString('hex')}`
  const bar = new ProgressBar(path, null)
  let bytes = 0
  try {
    const file = await open(unfinished, 'wx', mode)
    try {
      for await (const piece of pieces) {
        await file.writeFile(piece)
        bytes += piece.length
        bar.update(bytes)
      }
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(unfinished, path)
    return bytes
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined)
    throw unwritable(path, error)
  } finally {
    bar.end()
  }
}
