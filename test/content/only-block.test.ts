import { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { StagedDag } from '../../src/content/dag/staged-dag.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { type ContentParts, SMALL_BLOCK_BYTES, withContentParts } from '../support/content-parts.ts'

/** Returns a staged DAG with a late root, and a count of the roots that it created. */
function lateDag({ ledger, store, clock }: ContentParts): { staged: StagedDag; begun: () => number } {
  let begun = 0
  const begin = (): Promise<number> => {
    begun++
    return ledger.stage(0, clock.now())
  }
  return { staged: new StagedDag(begin, store, ledger), begun: () => begun }
}

async function blockOf({ store }: ContentParts, size: number, seed: string): Promise<{ cid: CID; bytes: Uint8Array }> {
  const bytes = pseudoRandom(size, seed)
  return { cid: CID.createV1(0x55, await store.hash(bytes)), bytes }
}

test('one small block waits for the commit, and leaves nothing', () =>
  withContentParts(async parts => {
    const { staged, begun } = lateDag(parts)
    const { cid, bytes } = await blockOf(parts, SMALL_BLOCK_BYTES, 'only')
    let released = 0
    await staged.put(cid, bytes, () => released++)
    const sent = Uint8Array.from(bytes)
    bytes.fill(0)
    await staged.settle()
    expect(staged.onlyBlock).toMatchObject({ multihash: cid.multihash.bytes, bytes: sent })
    expect(staged.sizes(SMALL_BLOCK_BYTES)).toMatchObject({ blocks: 1, dagSize: SMALL_BLOCK_BYTES, charge: 1_024 })
    expect(parts.store.sizeOf(cid)).toBeNull()
    await staged.abandon()
    expect({ begun: begun(), released, block: staged.onlyBlock }).toEqual({ begun: 0, released: 1, block: null })
    expect(parts.ledger.lastRoot()).toBe(0)
  }))

test('a second block stores both like all others', () =>
  withContentParts(async parts => {
    const { staged, begun } = lateDag(parts)
    const blocks = await Promise.all(['a', 'b', 'a', 'c'].map(seed => blockOf(parts, 100, seed)))
    await Promise.all(blocks.map(({ cid, bytes }) => staged.put(cid, bytes)))
    await staged.settle()
    expect(begun()).toBe(1)
    expect(staged.onlyBlock).toBeNull()
    expect(staged.sizes(0)).toMatchObject({ blocks: 3, dagSize: 300, charge: 3 * 512 })
    for (const { cid, bytes } of blocks) expect(Buffer.compare(await parts.store.read(cid), bytes)).toBe(0)
  }))

test('a block in a file is stored before the commit', () =>
  withContentParts(async parts => {
    const { staged, begun } = lateDag(parts)
    const { cid, bytes } = await blockOf(parts, SMALL_BLOCK_BYTES + 1, 'large')
    await staged.put(cid, bytes)
    await staged.settle()
    expect({ begun: begun(), block: staged.onlyBlock, has: parts.store.sizeOf(cid) !== null }).toEqual({
      ...{ begun: 1, block: null, has: true },
    })
  }))

test('a block after the end of its DAG begins nothing', () =>
  withContentParts(async parts => {
    const { staged, begun } = lateDag(parts)
    await staged.abandon()
    const { cid, bytes } = await blockOf(parts, 100, 'late')
    let released = 0
    await expect(staged.put(cid, bytes, () => released++)).rejects.toMatchObject({ code: 'ABORTED' })
    expect({ begun: begun(), released, block: staged.onlyBlock }).toEqual({ begun: 0, released: 1, block: null })
  }))

test('a commit refuses to store a block that has a file', () =>
  withContentParts(async parts => {
    const staged = await parts.stage()
    const { cid, bytes } = await blockOf(parts, SMALL_BLOCK_BYTES + 1, 'filed')
    await staged.put(cid, bytes)
    await staged.settle()
    const store = (): unknown => parts.ledger.claims.store(staged.rootId, 0, { multihash: cid.multihash.bytes, bytes })
    expect(store).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }))
  }))
