import { BlackHoleBlockstore } from 'blockstore-core'
import { importer } from 'ipfs-unixfs-importer'
import type { CID } from 'multiformats/cid'
import { describe, expect, test, vi } from 'vitest'
import { Activity } from '../../src/concurrency/activity.ts'
import type { StagedDag } from '../../src/content/dag/staged-dag.ts'
import { cidOfCompact, compactCid, type StoredEntry, storeDirectory } from '../../src/content/unixfs/directory.ts'
import { Verifier } from '../../src/content/verifier.ts'
import { Database } from '../../src/storage/database.ts'
import { type ContentParts, rawCid, withContentParts } from '../support/content-parts.ts'
import { turnsDuring } from '../support/turns-during.ts'

/** Returns many entries of the same block. */
async function entriesOf(staged: StagedDag, names: Iterable<string>): Promise<Map<string, StoredEntry>> {
  const bytes = Buffer.from('content')
  const cid = await staged.put(await rawCid(bytes), bytes)
  return new Map([...names].map(name => [name, { cid: compactCid(cid), tsize: bytes.length }]))
}

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `name ${index}`)
}

async function storeSmall({ stage, complete }: ContentParts, count: number, from = 0): Promise<StagedDag> {
  const staged = await stage()
  let root: CID | null = null
  for (let index = from; index < from + count; index++) {
    const bytes = Buffer.alloc(1_000, `${index} `)
    root = await staged.put(await rawCid(bytes), bytes)
  }
  if (root !== null) await complete(staged, root)
  return staged
}

describe('the verifier, over many small blocks,', () => {
  const verifierOf = ({ blocks, store }: ContentParts) => new Verifier(blocks, new Map([[0, store]]), new Activity())

  test('gives the loop back, and ends with its signal', async () => {
    await withContentParts(async parts => {
      await storeSmall(parts, 6_000)
      const { result, turns } = await turnsDuring(() => verifierOf(parts).verify())
      expect(result).toEqual({ blocks: 6_000, bytes: 6_000_000, damaged: [], damagedBlocks: 0 })
      expect(turns).toBeGreaterThan(3)

      const controller = new AbortController()
      setImmediate(() => controller.abort())
      const { blocks } = await verifierOf(parts).verify({ signal: controller.signal })
      expect(blocks).toBeLessThan(6_000)
    })
  })
})

test('a collection frees about a hundred blocks in a transaction', async () => {
  await withContentParts(async parts => {
    const { ledger, clock, drop } = parts
    const staged = await storeSmall(parts, 1_000)
    await drop(staged)
    let transactions = 1
    while ((await ledger.releaseBatch([staged.rootId], clock.now())) === 0) transactions++
    expect(transactions).toBeGreaterThan(10)
    const { blocks, more } = await ledger.takeGarbage(clock.now(), clock.now())
    expect(blocks).toBeLessThanOrEqual(128)
    expect(more).toBe(true)
  })
})

describe('many small roots', () => {
  const SMALL = 250

  async function dropped(parts: ContentParts): Promise<number[]> {
    for (let i = 0; i < SMALL; i++) await parts.drop(await storeSmall(parts, 1, i))
    return parts.ledger.droppedRoots(
      () => new Set(Array.from({ length: SMALL }, (_, i) => -i)),
      parts.ledger.lastRoot(),
    )
  }

  /** Returns the number of transactions that a whole collection takes. */
  async function transactionsOf(parts: ContentParts, turnMs: number): Promise<{ release: number; take: number }> {
    const { ledger, clock } = parts
    const rootIds = await dropped(parts)
    expect(rootIds).toHaveLength(SMALL)
    let now = 0
    const time = vi.spyOn(performance, 'now').mockImplementation(() => {
      now += turnMs
      return now
    })
    try {
      let release = 0
      for (; rootIds.length > 0; release++) rootIds.splice(0, await ledger.releaseBatch(rootIds, clock.now()))
      let take = 0
      let taken = 0
      for (let more = true; more; take++) {
        const batch = await ledger.takeGarbage(clock.now(), clock.now())
        taken += batch.blocks
        more = batch.more
      }
      expect(taken).toBe(SMALL)
      return { release, take }
    } finally {
      time.mockRestore()
    }
  }

  test('share a transaction, about a hundred blocks at a time', async () => {
    await withContentParts(async parts => {
      expect(await transactionsOf(parts, 0)).toEqual({ release: 3, take: 2 })
    })
  })

  test('get another transaction when the turn is spent', async () => {
    await withContentParts(async parts => {
      const { release, take } = await transactionsOf(parts, 10)
      expect(release).toBeGreaterThan(SMALL / 4)
      expect(take).toBeGreaterThan(SMALL / 4)
    })
  })
})

test('a collection of inline blocks waits for no sync', async () => {
  await withContentParts(async parts => {
    const staged = await storeSmall(parts, 500)
    await parts.drop(staged)
    const durable = vi.spyOn(Database.prototype, 'setDurable')
    try {
      expect(await parts.collector.collect(0)).toMatchObject({ blocks: 500 })
      expect(durable.mock.calls.length).toBeGreaterThan(4)
      expect(durable.mock.calls.flat()).not.toContain(true)
    } finally {
      durable.mockRestore()
    }
  })
})

describe('a directory with many names', () => {
  test('is sharded in turns, and as by the reference importer', async () => {
    await withContentParts(async parts => {
      const staged = await parts.stage()
      const names = numbered(12_000)
      const entries = await entriesOf(staged, names)
      const { result, turns } = await turnsDuring(() => storeDirectory(staged, entries))
      expect(turns).toBeGreaterThan(10)
      let reference = ''
      const candidates = names.map(path => ({ path, content: Buffer.from('content') }))
      const options = { profile: 'unixfs-v1-2025', wrapWithDirectory: true } as const
      for await (const { cid } of importer(candidates, new BlackHoleBlockstore(), options)) reference = String(cid)
      expect(cidOfCompact(result.cid).toString()).toBe(reference)
      await staged.abandon()
    })
  })

  test('is not sharded further after its signal aborts', async () => {
    await withContentParts(async parts => {
      const staged = await parts.stage()
      const entries = await entriesOf(staged, numbered(12_000))
      const controller = new AbortController()
      setImmediate(() => controller.abort(new Error('left')))
      await expect(storeDirectory(staged, entries, { signal: controller.signal })).rejects.toThrow('left')
      expect(staged.blockCount).toBeLessThan(100)
      await staged.abandon()
    })
  })

  test('is refused if two of its names have the same hash', async () => {
    await withContentParts(async parts => {
      const staged = await parts.stage()
      const alike = ['35dd07c54882a46db69fe6840d12ca7e', '51a99d8fedfa2911^;t0Lc,;Sf{JZ~[8']
      const entries = await entriesOf(staged, [...numbered(6_000), ...alike])
      const refused = storeDirectory(staged, entries)
      await expect(refused).rejects.toMatchObject({ code: 'VALIDATION', message: expect.stringContaining('hash') })
      await staged.abandon()
    })
  })
})
