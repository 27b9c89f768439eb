import { webcrypto } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CID } from 'multiformats/cid'
import { expect, test, vi } from 'vitest'
import { blockFileOf } from '../support/block-place.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { type ContentParts, rawCid, withContentParts } from '../support/content-parts.ts'
import { turnsDuring } from '../support/turns-during.ts'

const MIB = 1024 ** 2

async function stored(parts: ContentParts, count: number): Promise<CID[]> {
  const staged = await parts.stage()
  const cids: CID[] = []
  for (let index = 0; index < count; index++) {
    const bytes = pseudoRandom(MIB, `read ${index}`)
    cids.push(await staged.put(await rawCid(bytes), bytes))
  }
  const [first] = cids
  if (first !== undefined) await parts.complete(staged, first)
  return cids
}

test('reads for others hash blocks in place, without a copy', () =>
  withContentParts(async parts => {
    const [cid] = await stored(parts, 1)
    const copied = vi.spyOn(webcrypto.subtle, 'digest')
    try {
      if (cid !== undefined) expect(await parts.store.read(cid)).toHaveLength(MIB)
      expect(copied).not.toHaveBeenCalled()
    } finally {
      copied.mockRestore()
    }
  }))

test('a block with other bytes is damaged', () =>
  withContentParts(async parts => {
    const [cid] = await stored(parts, 1)
    if (cid === undefined) throw new Error('nothing is stored')
    await writeFile(join(parts.dataDir, 'blocks', blockFileOf(cid)), pseudoRandom(MIB, 'other'))
    await expect(parts.store.read(cid)).rejects.toMatchObject({ code: 'BLOCK_DAMAGED' })
    expect(parts.damaged).toHaveLength(1)
  }))

test('blocks that arrive together are hashed in turns', () =>
  withContentParts(async parts => {
    const [cid] = await stored(parts, 1)
    if (cid === undefined) throw new Error('nothing is stored')
    const bytes = await parts.store.read(cid)
    // All reads of the disk end in one turn.
    vi.spyOn(parts.files, 'read').mockImplementation(async () => bytes)
    const reads = () => Promise.all(Array.from({ length: 160 }, () => parts.store.read(cid)))
    expect((await turnsDuring(reads)).turns).toBeGreaterThan(5)
  }))
