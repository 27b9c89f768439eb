import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'

const WRITE_BYTES = 1024 * 1024

/**
 * Writes, hashes and syncs a file: the least work that any content-addressed store must do. Resolves with the SHA-256
 * in hex.
 */
export async function writeHashed(source: AsyncIterable<Uint8Array>, file: string): Promise<string> {
  const hash = createHash('sha256')
  const handle = await open(file, 'wx')
  try {
    let writing: Promise<void> = Promise.resolve()
    let gathered: Uint8Array[] = []
    let size = 0
    const flush = async (): Promise<void> => {
      await writing
      const expected = size
      writing = handle.writev(gathered).then(({ bytesWritten }) => {
        if (bytesWritten !== expected) throw new Error(`short write to ${file}`)
      })
      // The next flush throws the error; until then it must not count as unhandled.
      writing.catch(() => undefined)
      gathered = []
      size = 0
    }
    for await (const chunk of source) {
      hash.update(chunk)
      gathered.push(chunk)
      size += chunk.length
      if (size >= WRITE_BYTES) await flush()
    }
    if (size > 0) await flush()
    await writing
    await handle.sync()
  } finally {
    await handle.close()
  }
  return hash.digest('hex')
}
