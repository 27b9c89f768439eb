import { randomBytes } from 'node:crypto'
import { open, rename, rm, stat } from 'node:fs/promises'
import { HoldfastError } from '../../src/domain/errors.ts'
import { unwritable } from './local-files.ts'
import { onDisk } from './local-name.ts'
import { printable } from './printed-text.ts'
import { ProgressBar } from './progress-bar.ts'
import { untilInterrupted } from './until-interrupted.ts'

export interface FileAttributes {
  mode: number
  mtime?: number
}

/**
 * Writes a file durably and completely, or leaves no file. Returns the size in bytes.
 * @param path the last name is a text form
 * @param attributes permissions of the new file, of which the umask takes its part; its time in seconds since the epoch
 * @throws HoldfastError `INVALID_PATH` if the file cannot be written, or if the path is a directory or a device
 */
export function writeWhole(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  attributes: FileAttributes,
): Promise<number> {
  return untilInterrupted(pieces, given => writePieces(path, given, attributes))
}

async function writePieces(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  { mode, mtime = 0 }: FileAttributes,
): Promise<number> {
  const entry = await stat(onDisk(path)).catch(() => null)
  if (entry?.isFile() === false) throw new HoldfastError('INVALID_PATH', `${printable(path)} is not a file`)
  const unfinished = onDisk(`${path}.part-${randomBytes(6).toString('hex')}`)
  const bar = new ProgressBar(printable(path), null)
  let bytes = 0
  try {
    const file = await open(unfinished, 'wx', mode)
    try {
      for await (const piece of pieces) {
        await file.writeFile(piece)
        bytes += piece.length
        bar.update(bytes)
      }
      if (mtime > 0) await file.utimes(mtime, mtime)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(unfinished, onDisk(path))
    return bytes
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined)
    throw unwritable(path, error)
  } finally {
    bar.end()
  }
}
