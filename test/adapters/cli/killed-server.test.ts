import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { varint } from 'multiformats'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { afterEach, expect, test } from 'vitest'
import { exportHeader } from '../../../adapters/cli/export-file.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { runHoldfast, ServerProcess } from '../../support/server-process.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const BLOCK = 1_000_000
const BLOCKS = 48

afterEach(() => ServerProcess.killAll())

const commands: [string, string, (path: string) => Promise<void>][] = [
  ['an import', 'import', writeCar],
  ['an upload of a file', 'upload', path => writeFile(path, pseudoRandom(BLOCKS * BLOCK, 'file'))],
  ['an upload of a directory', 'upload', writeDirectory],
]

test.each(commands)('%s ends with one line when its server is killed', async (_, command, write) => {
  await withTempDir(async dir => {
    const data = join(dir, 'data')
    const path = join(dir, 'content.car')
    await write(path)
    const server = await ServerProcess.start(data)
    await server.until(/shown only this once: \S+\n/)
    const key = /shown only this once: (\S+)\n/.exec(server.stdout)?.[1] ?? ''
    const before = await bytesBelow(data)
    const running = runHoldfast([command, path], { HOLDFAST_API: server.api, HOLDFAST_API_KEY: key })
    while ((await bytesBelow(data)) < before + 2 * BLOCK) await sleep(5)
    server.signal('SIGKILL')
    const { code, stderr } = await running
    expect(code).toBe(1)
    // A connection breaks off, or the next one is refused.
    expect(stderr).toMatch(/^holdfast: (no answer from \S+: .*|nothing listens at \S+: .*)\n$/)
  })
})

async function writeCar(path: string): Promise<void> {
  const parts: Uint8Array[] = []
  const cids: CID[] = []
  for (let at = 0; at < BLOCKS; at++) {
    const block = pseudoRandom(BLOCK, at)
    const cid = CID.createV1(0x55, await sha256.digest(block))
    cids.push(cid)
    const length = cid.bytes.length + block.length
    parts.push(varint.encodeTo(length, new Uint8Array(varint.encodingLength(length))), cid.bytes, block)
  }
  await writeFile(path, Buffer.concat([exportHeader([String(cids[0])]), ...parts]))
}

async function writeDirectory(path: string): Promise<void> {
  await mkdir(path)
  for (let at = 0; at < BLOCKS; at++) await writeFile(join(path, `${at}.bin`), pseudoRandom(BLOCK, at))
}

async function bytesBelow(directory: string): Promise<number> {
  const names = await readdir(directory, { recursive: true })
  const sizes = await Promise.all(
    names.map(name =>
      stat(join(directory, name)).then(
        found => found.size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
