import { readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import type { StagedDag } from '../../src/content/dag/staged-dag.ts'
import { blockFileOf } from '../support/block-place.ts'
import { pseudoRandom } from '../support/bytes.ts'
import {
  type ContentParts,
  fault,
  gate,
  rawCid,
  SMALL_BLOCK_BYTES,
  turns,
  withContentParts,
} from '../support/content-parts.ts'
import { EMPTY, storeSizes, strayBlocks, withDatabase } from '../support/store-inspection.ts'

const BIG = 50_000

async function block(seed: string, size = BIG): Promise<{ cid: CID; bytes: Buffer; key: Buffer }> {
  const bytes = pseudoRandom(size, seed)
  const cid = await rawCid(bytes)
  return { cid, bytes, key: Buffer.from(cid.multihash.bytes) }
}

async function stored(parts: ContentParts, seed: string, size = BIG) {
  const made = await block(seed, size)
  const staged = await parts.stage()
  await staged.put(made.cid, made.bytes)
  await parts.complete(staged, made.cid)
  return { ...made, staged, file: join(parts.dataDir, 'blocks', blockFileOf(made.cid)) }
}

async function putAgain(parts: ContentParts, { cid, bytes }: { cid: CID; bytes: Uint8Array }): Promise<StagedDag> {
  const staged = await parts.stage()
  await staged.put(cid, bytes)
  await staged.settle()
  return staged
}

/** Returns true if a promise is still open after many turns of the event loop. */
async function isWaiting(promise: Promise<unknown>): Promise<boolean> {
  let isOver = false
  const over = (): void => {
    isOver = true
  }
  promise.then(over, over)
  await turns(60)
  return !isOver
}

describe('block store', () => {
  test('concurrent puts of one block write it once and share its durability', async () => {
    await withContentParts(async parts => {
      const { cid, bytes } = await block('shared')
      const writing = gate()
      parts.files.beforeWrite = () => writing.opened
      const dags = await Promise.all([parts.stage(), parts.stage(), parts.stage()])
      for (const staged of dags) await staged.put(cid, Buffer.from(bytes))
      const settled = dags.map(staged => staged.settle())
      expect(await Promise.all(settled.map(isWaiting))).toEqual([true, true, true])
      expect(parts.store.sizeOf(cid)).toBeNull()
      writing.open()
      await Promise.all(settled)
      expect(parts.files.writes).toBe(1)
      expect(parts.store.sizeOf(cid)).not.toBeNull()
      expect(dags.map(staged => staged.dagSize)).toEqual([BIG, BIG, BIG])
      expect(Buffer.compare(await parts.store.get(cid, { verify: true }), bytes)).toBe(0)
      expect((await storeSizes(parts.dataDir)).root_blocks).toBe(3)
    })
  })

  test('bytes are released only after their last use', async () => {
    await withContentParts(async parts => {
      const { cid, bytes } = await block('given back')
      const writing = gate()
      parts.files.beforeWrite = () => writing.opened
      const [leader, follower] = [await parts.stage(), await parts.stage()]
      const given: string[] = []
      await leader.put(cid, bytes, () => given.push('leader'))
      await turns(5)
      await follower.put(cid, Buffer.from(bytes), () => given.push('follower'))
      await turns(20)
      expect(given).toEqual([])
      writing.open()
      await Promise.all([leader.settle(), follower.settle()])
      expect(given.sort()).toEqual(['follower', 'leader'])
    })
  })

  test('a put that waited for a failed write writes the block itself', async () => {
    await withContentParts(async parts => {
      const { cid, bytes } = await block('failing leader')
      const writing = gate()
      parts.files.beforeWrite = async () => {
        if (parts.files.writes > 1) return
        await writing.opened
        throw fault('EIO')
      }
      const [leader, follower] = [await parts.stage(), await parts.stage()]
      await leader.put(cid, bytes)
      await turns(10)
      await follower.put(cid, bytes)
      await turns(10)
      writing.open()
      await expect(leader.settle()).rejects.toThrow('EIO')
      await follower.settle()
      expect(parts.files.writes).toBe(2)
      await leader.abandon()
      await parts.collector.collect(0)
      expect(Buffer.compare(await parts.store.get(cid, { verify: true }), bytes)).toBe(0)
      expect(await strayBlocks(parts.dataDir)).toEqual({ files: [], rows: [] })
    })
  })

  test('a put during a deletion waits, and writes the block again', async () => {
    await withContentParts(async parts => {
      const old = await stored(parts, 'deleted')
      await parts.drop(old.staged)
      const removing = gate()
      parts.files.beforeRemove = () => removing.opened
      const collecting = parts.collector.collect(0)
      await turns(20)
      const staged = await parts.stage()
      await staged.put(old.cid, old.bytes)
      const settled = staged.settle()
      expect(await isWaiting(settled)).toBe(true)
      expect(parts.files.writes).toBe(1)
      removing.open()
      await Promise.all([collecting, settled])
      expect(parts.files.writes).toBe(2)
      await parts.collector.collect(0)
      expect(Buffer.compare(await parts.store.get(old.cid, { verify: true }), old.bytes)).toBe(0)
      expect(await strayBlocks(parts.dataDir)).toEqual({ files: [], rows: [] })
    })
  })

  test('a block can be stored after its deletion failed', async () => {
    await withContentParts(async parts => {
      const old = await stored(parts, 'undeletable')
      await parts.drop(old.staged)
      let failures = 1
      parts.files.beforeRemove = () => {
        if (failures-- > 0) throw fault('EIO')
      }
      expect(await parts.collector.collect(0)).toEqual({ roots: 1, blocks: 0, bytes: 0 })
      const staged = await putAgain(parts, old)
      await parts.complete(staged, old.cid)
      await parts.collector.collect(0)
      expect(Buffer.compare(await parts.store.get(old.cid, { verify: true }), old.bytes)).toBe(0)
      expect(await strayBlocks(parts.dataDir)).toEqual({ files: [], rows: [] })
    })
  })

  test('the next collection repeats a failed deletion', async () => {
    await withContentParts(async parts => {
      for (const seed of ['one', 'two', 'three']) await parts.drop((await stored(parts, seed)).staged)
      let failures = 2
      parts.files.beforeRemove = () => {
        if (failures-- > 0) throw fault('EBUSY')
      }
      expect(await parts.collector.collect(0)).toEqual({ roots: 3, blocks: 1, bytes: BIG })
      expect((await storeSizes(parts.dataDir)).blockFiles).toBe(2)
      await parts.collector.collect(0)
      expect(await storeSizes(parts.dataDir)).toEqual(EMPTY)
    })
  })

  test('garbage that a root needs again is not deleted', async () => {
    await withContentParts(async parts => {
      const old = await stored(parts, 'needed again')
      await parts.drop(old.staged)
      await parts.collector.collect(60_000)
      expect((await storeSizes(parts.dataDir)).garbage).toBe(1)
      const staged = await putAgain(parts, old)
      expect(parts.files.writes).toBe(1)
      await parts.complete(staged, old.cid)
      parts.clock.advance(120_000)
      await parts.collector.collect()
      expect(Buffer.compare(await parts.store.get(old.cid, { verify: true }), old.bytes)).toBe(0)
    })
  })

  test('an abandoned root cannot be completed', async () => {
    await withContentParts(async parts => {
      const { cid, bytes } = await block('given up')
      const staged = await parts.stage()
      await staged.put(cid, bytes)
      await staged.settle()
      await parts.ledger.abandon(staged.rootId)
      await expect(parts.complete(staged, cid)).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
    })
  })

  test('a leased root is not collected until its release', async () => {
    await withContentParts(async parts => {
      const old = await stored(parts, 'leased')
      const release = parts.leases.hold(old.staged.rootId)
      await parts.drop(old.staged)
      expect(await parts.collector.collect(0)).toEqual({ roots: 0, blocks: 0, bytes: 0 })
      expect(Buffer.compare(await parts.store.get(old.cid, { verify: true }), old.bytes)).toBe(0)
      release()
      expect(await parts.collector.collect(0)).toEqual({ roots: 1, blocks: 1, bytes: BIG })
    })
  })

  test('garbage stays for the grace period', async () => {
    await withContentParts(async parts => {
      await parts.drop((await stored(parts, 'graceful')).staged)
      expect(await parts.collector.collect()).toEqual({ roots: 1, blocks: 0, bytes: 0 })
      parts.clock.advance(59_999)
      expect(await parts.collector.collect()).toEqual({ roots: 0, blocks: 0, bytes: 0 })
      parts.clock.advance(1)
      expect(await parts.collector.collect()).toEqual({ roots: 0, blocks: 1, bytes: BIG })
      expect(await storeSizes(parts.dataDir)).toEqual(EMPTY)
    })
  })

  test.each<[string, (file: string, bytes: Buffer) => Promise<unknown>, string]>([
    ['truncated', file => truncate(file, BIG - 1), `has ${BIG - 1} of ${BIG} bytes`],
    ['emptied', file => truncate(file, 0), `has 0 of ${BIG} bytes`],
    ['missing', file => rm(file), 'is missing'],
    ['flipped', (file, bytes) => writeFile(file, flipped(bytes)), 'has the wrong hash'],
  ])('a block that is %s is reported; the same bytes heal it', async (_, damage, reason) => {
    await withContentParts(async parts => {
      const old = await stored(parts, 'damaged')
      await damage(old.file, old.bytes)
      await expect(parts.store.get(old.cid, { verify: true })).rejects.toMatchObject({ code: 'BLOCK_DAMAGED' })
      expect(parts.damaged).toEqual([`${old.cid} ${reason}`])
      const again = await Promise.all([putAgain(parts, old), putAgain(parts, old)])
      expect(new Set(parts.healed)).toEqual(new Set([old.cid.toString()]))
      expect(Buffer.compare(await readFile(old.file), old.bytes)).toBe(0)
      expect(Buffer.compare(await parts.store.get(old.cid, { verify: true }), old.bytes)).toBe(0)
      for (const staged of again) await staged.abandon()
      await parts.collector.collect(0)
      expect(Buffer.compare(await parts.store.get(old.cid, { verify: true }), old.bytes)).toBe(0)
    })
  })

  test.each(['UPDATE small_blocks SET bytes = zeroblob(3)', 'DELETE FROM small_blocks'])(
    'a small block is healed after %s',
    async damage => {
      await withContentParts(async parts => {
        const old = await stored(parts, 'small', SMALL_BLOCK_BYTES)
        expect((await storeSizes(parts.dataDir)).small_blocks).toBe(1)
        withDatabase(parts.dataDir, db => db.prepare(damage).run())
        await expect(parts.store.get(old.cid)).rejects.toMatchObject({ code: 'BLOCK_DAMAGED' })
        await putAgain(parts, old)
        expect(parts.healed).toEqual([old.cid.toString()])
        expect(Buffer.compare(await parts.store.get(old.cid, { verify: true }), old.bytes)).toBe(0)
      })
    },
  )

  test('a sound block is not written again nor reported as healed', async () => {
    await withContentParts(async parts => {
      const big = await stored(parts, 'whole')
      const small = await stored(parts, 'whole', 10)
      await putAgain(parts, big)
      await putAgain(parts, small)
      expect(parts.files.writes).toBe(1)
      expect(parts.healed).toEqual([])
    })
  })

  test('an abandoned staged DAG accepts no more blocks', async () => {
    await withContentParts(async parts => {
      const { cid, bytes } = await block('late')
      const staged = await parts.stage()
      await staged.abandon()
      await parts.collector.collect(0)
      await expect(staged.put(cid, bytes)).rejects.toThrow()
      await turns(20)
      await staged.abandon()
      await parts.collector.collect(0)
      expect(await storeSizes(parts.dataDir)).toEqual(EMPTY)
    })
  })

  test('a full disk fails an upload, which leaves nothing', async () => {
    await withContentParts(async parts => {
      parts.files.beforeWrite = () => {
        if (parts.files.writes > 3) throw fault('ENOSPC')
      }
      const staged = await parts.stage()
      const store = async (): Promise<void> => {
        for (let i = 0; i < 20; i++) {
          const { cid, bytes } = await block(`full ${i}`)
          await staged.put(cid, bytes)
        }
        await staged.settle()
      }
      await expect(store()).rejects.toMatchObject({ code: 'ENOSPC' })
      await staged.abandon()
      await parts.collector.collect(0)
      expect(await storeSizes(parts.dataDir)).toEqual(EMPTY)
    })
  })

  test('overlapping DAGs with random write failures keep exactly their settled blocks', async () => {
    const alphabet = await Promise.all([...'abcdef'].map(seed => block(`random ${seed}`, seed < 'c' ? 200 : 20_000)))
    const dag = fc.record({
      blocks: fc.uniqueArray(fc.nat(alphabet.length - 1), { minLength: 1, maxLength: 5 }),
      keep: fc.boolean(),
    })
    const plan = fc.record({
      dags: fc.array(dag, { minLength: 2, maxLength: 5 }),
      failing: fc.array(fc.boolean(), { maxLength: 12 }),
    })
    await fc.assert(
      fc.asyncProperty(plan, ({ dags, failing }) =>
        withContentParts(parts => storeOverlapping(parts, alphabet, dags, failing)),
      ),
      { numRuns: 12 },
    )
  })
})

async function storeOverlapping(
  parts: ContentParts,
  alphabet: Array<{ cid: CID; bytes: Buffer }>,
  dags: Array<{ blocks: number[]; keep: boolean }>,
  failing: boolean[],
): Promise<void> {
  parts.files.beforeWrite = async () => {
    const isFailing = failing[parts.files.writes - 1] === true
    await turns(parts.files.writes % 3)
    if (isFailing) throw fault('EIO')
  }
  const kept: Array<{ staged: StagedDag; blocks: number[] }> = []
  const run = async ({ blocks, keep }: { blocks: number[]; keep: boolean }): Promise<void> => {
    const staged = await parts.stage()
    try {
      for (const index of blocks) {
        const made = alphabet[index]
        if (made !== undefined) await staged.put(made.cid, made.bytes)
      }
      await staged.settle()
      if (!keep) throw fault('ECANCELED')
      kept.push({ staged, blocks })
    } catch {
      await staged.abandon()
    }
  }
  const collecting = (async () => {
    for (let i = 0; i < 10; i++) await parts.collector.collect(0)
  })()
  await Promise.all([...dags.map(run), collecting])
  await parts.collector.collect(0)
  for (const { blocks } of kept) {
    for (const index of blocks) {
      const made = alphabet[index]
      if (made === undefined) continue
      expect(Buffer.compare(await parts.store.get(made.cid, { verify: true }), made.bytes)).toBe(0)
    }
  }
  expect((await storeSizes(parts.dataDir)).blocks).toBe(new Set(kept.flatMap(({ blocks }) => blocks)).size)
  expect(await strayBlocks(parts.dataDir)).toEqual({ files: [], rows: [] })
  for (const { staged } of kept) await staged.abandon()
  await parts.collector.collect(0)
  expect(await storeSizes(parts.dataDir)).toEqual(EMPTY)
}

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  copy[BIG >> 1] = (copy[BIG >> 1] ?? 0) ^ 1
  return copy
}
