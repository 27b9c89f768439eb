import { open, rename, rm } from 'node:fs/promises'
import { ProgressBar } from './progress-bar.ts'

/** Writes a file durably and completely, readable by the user alone, or leaves no file. Returns the size in bytes. */
export async function writeWhole(path: string, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  const unfinished = `${path}.part`
  const file = await open(unfinished, 'w', 0o600)
  const bar = new ProgressBar(path, null)
  let bytes = 0
  try {
    for await (const piece of pieces) {
      await file.writeFile(piece)
      bytes += piece.length
      bar.update(bytes)
    }
    await file.sync()
    await file.close()
    await rename(unfinished, path)
    return bytes
  } catch (error) {
    await file.close().catch(() => undefined)
    await rm(unfinished, { force: true })
    throw error
  } finally {
    bar.end()
  }
}
