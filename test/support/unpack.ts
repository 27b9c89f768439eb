import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'

export async function unpack(archive: string, into: string): Promise<void> {
  const entries = extract()
  const unpacked = (async () => {
    for await (const entry of entries) {
      const path = join(into, entry.header.name)
      await mkdir(entry.header.type === 'directory' ? path : dirname(path), { recursive: true })
      if (entry.header.type === 'directory') entry.resume()
      else await pipeline(entry, createWriteStream(path))
    }
  })()
  await Promise.all([pipeline(createReadStream(archive), createGunzip(), entries), unpacked])
}
