import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { stagedCar } from '../../../src/content/car/staged-car.ts'
import { stagedFile, stagedFiles } from '../../../src/content/unixfs/staged-files.ts'
import { importFile } from '../../../src/content/unixfs/unixfs-import.ts'
import { blockFileOf } from '../../support/block-place.ts'
import { collect, pseudoRandom } from '../../support/bytes.ts'
import { withContentParts } from '../../support/content-parts.ts'

const nobody = new AbortController().signal

/** Copies each piece, which is valid only until the next request. */
async function* copied(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of source) yield Buffer.from(piece)
}

test('staged files and blocks read back as stored, without damaged ones', () =>
  withContentParts(async ({ stage, dataDir }) => {
    const staged = await stage()
    const files = Array.from({ length: 250 }, (_, i) => ({ path: `${i % 2}/${i}`, content: pseudoRandom(i, `${i}`) }))
    const large = { path: 'large', content: pseudoRandom(2_500_000, 'large') }
    for (const { path, content } of [...files, large]) {
      const { cid, size } = await importFile(staged, [content], { name: path, onBytes: () => undefined })
      await staged.addFile(path, cid, size)
    }
    await staged.settle()
    const read: Array<{ path: string; content: Buffer }> = []
    let last: CID | null = null
    for await (const { path, content } of stagedFiles(staged, [], nobody))
      read.push({ path, content: await collect(copied(content)) })
    expect(read.map(({ path }) => path)).toEqual([...files, large].map(({ path }) => path))
    for (const [i, { content }] of [...files, large].entries()) {
      expect(Buffer.compare(read[i]?.content ?? Buffer.alloc(0), content)).toBe(0)
    }
    for (const { path, codec, multihash } of staged.files()) {
      if (path === 'large') last = CID.decode(Buffer.concat([Buffer.from([1, codec]), multihash]))
    }
    if (last === null) throw new Error('the large file was noted')
    expect([...staged.multihashes()].length).toBe(staged.blockCount)
    const whole = await collect(stagedCar(staged, [last], nobody))
    expect(whole.length).toBeGreaterThan(staged.dagSize)
    // Each block has a multihash of 34 bytes after a length of at most 3, and the header has the root.
    expect(whole.length).toBeLessThanOrEqual(staged.dagSize + staged.blockCount * 37 + 100)
    const leaf = CID.createV1(0x55, await staged.store.hash(large.content.subarray(0, 1024 ** 2)))
    await writeFile(join(dataDir, 'blocks', blockFileOf(leaf)), pseudoRandom(1024 ** 2, 'other'))
    await expect(collect(copied(stagedFile(staged, last, nobody)))).rejects.toMatchObject({ code: 'BLOCK_DAMAGED' })
    await expect(collect(stagedCar(staged, [last], nobody))).rejects.toMatchObject({ code: 'BLOCK_DAMAGED' })
    await staged.abandon()
  }))
