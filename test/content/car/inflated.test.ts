import * as dagCbor from '@ipld/dag-cbor'
import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { listFiles, type UnixfsFile } from '../../../src/content/unixfs/unixfs-files.ts'
import { CODEC } from '../../../src/ipld/cid.ts'
import { type Block, blockOf, identityBlock, leaf } from '../../pins/fetches/support/dags.ts'
import { expectNothing } from '../../support/nothing-left.ts'
import { withEngine } from '../../support/test-engine.ts'
import { turnsDuring } from '../../support/turns-during.ts'
import { carOf, streamOf } from './support/cars.ts'

type Entries = ReadonlyArray<readonly [name: string, cid: CID]>

const DIRECTORY = new UnixFS({ type: 'directory' }).marshal()
const SHARD = new UnixFS({
  type: 'hamt-sharded-directory',
  data: Uint8Array.of(1),
  fanout: 256n,
  hashType: 0x22n,
}).marshal()

function nodeOf(data: Uint8Array, entries: Entries): Block {
  const links = entries.map(([Name, Hash]) => ({ Name, Hash, Tsize: 1 }))
  return blockOf(CODEC.dagPb, dagPb.encode({ Data: data, Links: links }))
}

/** Returns levels of nodes above a CID, the root last. */
function levels(count: number, bottom: CID, nodeAbove: (cid: CID) => Block): Block[] {
  const blocks: Block[] = []
  for (let cid = bottom; blocks.length < count; ) {
    const block = nodeAbove(cid)
    blocks.push(block)
    cid = block.cid
  }
  return blocks
}

function rootOf(blocks: readonly Block[]): CID {
  const last = blocks.at(-1)
  if (last === undefined) throw new Error('no blocks')
  return last.cid
}

/** Lists blocks in memory, and counts the reads. */
async function listed(blocks: readonly Block[], maxRepeats = 1_000) {
  const byCid = new Map(blocks.map(({ cid, bytes }) => [cid.toString(), bytes]))
  const files: UnixfsFile[] = []
  let reads = 0
  const totals = await listFiles(rootOf(blocks), {
    blocks: {
      get: async cid => {
        reads++
        return byCid.get(cid.toString()) ?? new Uint8Array()
      },
      sizeOf: () => null,
    },
    maxRepeats,
    onFile: async file => {
      files.push(file)
    },
  })
  return { totals, files, reads }
}

const file = leaf(Buffer.from('a file')).blocks[0] as Block
const twice =
  (data: Uint8Array, names: readonly [string, string]) =>
  (cid: CID): Block =>
    nodeOf(
      data,
      names.map(name => [name, cid]),
    )

describe('a directory of sixty levels, each linked twice from above', () => {
  const doubled = twice(DIRECTORY, ['a', 'b'])

  test('without files costs no more than its blocks', async () => {
    const empty = nodeOf(DIRECTORY, [])
    const { totals, reads, files } = await listed([empty, ...levels(60, empty.cid, doubled)])
    expect(totals).toEqual({ bytes: 0, files: 0 })
    expect(files).toEqual([])
    expect(reads).toBeLessThan(200)
  })

  test('with a file lists limited repeats, and counts all of them', async () => {
    const { totals, reads, files } = await listed([file, ...levels(60, file.cid, doubled)])
    expect(totals).toEqual({ bytes: Number.MAX_SAFE_INTEGER, files: Number.MAX_SAFE_INTEGER })
    expect(files.length).toBeGreaterThan(100)
    expect(files.length).toBeLessThan(1_100)
    expect(new Set(files.map(({ path }) => path)).size).toBe(files.length)
    expect(files[0]?.path).toBe(`${'a/'.repeat(59)}a`)
    expect(reads).toBeLessThan(3_000)
  })

  test('costs no more as shards of one directory', async () => {
    const bottom = nodeOf(SHARD, [['00name', file.cid]])
    const { totals, reads } = await listed([file, bottom, ...levels(60, bottom.cid, twice(SHARD, ['00', '01']))])
    expect(totals.files).toBe(2 ** 53 - 1)
    expect(reads).toBeLessThan(3_000)
  })
})

test.each([
  ['directories', DIRECTORY, 'd'],
  ['shards', SHARD, '00'],
])('twenty thousand nested %s are listed', async (_, data, name) => {
  const bottom = nodeOf(data, [[`${data === SHARD ? '00' : ''}file`, file.cid]])
  const blocks = [file, bottom, ...levels(20_000, bottom.cid, cid => nodeOf(data, [[name, cid]]))]
  const { result, turns } = await turnsDuring(() => listed(blocks))
  expect(result.totals).toEqual({ bytes: 6, files: 1 })
  // A path of 40,000 characters is not reported.
  expect(result.files.map(({ path }) => path)).toEqual([data === SHARD ? 'file' : null])
  expect(turns).toBeGreaterThan(3)
})

test('long names above repeated files are listed up to a bound', async () => {
  await withEngine(async ({ engine, account }) => {
    const names: [string, string] = ['a'.repeat(250), 'b'.repeat(250)]
    const blocks = [file, ...levels(12, file.cid, twice(DIRECTORY, names))]
    const { roots } = await engine.pins.importCar(streamOf(await carOf([rootOf(blocks)], blocks)), { account })
    const parentCid = roots[0]?.record.cid
    const pageOf = (page: number) => engine.pins.list({ account, parentCid, limit: 100, page })
    const { total, totalPages } = await pageOf(1)
    const pages = await Promise.all(Array.from({ length: totalPages }, (_, i) => pageOf(i + 1)))
    const characters = pages.flatMap(({ items }) => items).reduce((sum, { path }) => sum + (path?.length ?? 0), 0)
    expect(total).toBeLessThan(2 ** 12)
    // Without the bound, there were 12 million.
    expect(characters).toBeGreaterThan(2 ** 20 - 4_096)
    expect(characters).toBeLessThan(2 ** 20 + 16 * 512 * 30)
  })
})

test('pin.maxDepth applies to CARs', async () => {
  await withEngine(
    async test => {
      const { engine, account } = test
      const nested = (count: number) => [file, ...levels(count, file.cid, cid => nodeOf(DIRECTORY, [['d', cid]]))]
      const importOf = async (blocks: Block[]) =>
        engine.pins.importCar(streamOf(await carOf([rootOf(blocks)], blocks)), { account })
      await expect(importOf(nested(20_000))).rejects.toMatchObject({
        code: 'VALIDATION',
        message: expect.stringContaining('pin.maxDepth'),
      })
      await expect(importOf(nested(1_500))).rejects.toMatchObject({ code: 'VALIDATION' })
      await expectNothing(test)
      // The deepest level is that of the file.
      expect((await importOf(nested(1_499))).record).toMatchObject({ type: 'directory', size: 6 })
    },
    { pin: { maxDepth: 1_500 } },
  )
})

test('pin.maxBlocks applies to CARs, and below identity CIDs', async () => {
  await withEngine(
    async test => {
      const { engine, account } = test
      const folder = (count: number, name: string): Block[] => {
        const leaves = Array.from({ length: count }, (_, index) => blockOf(CODEC.raw, Buffer.from(`${name} ${index}`)))
        return [
          ...leaves,
          nodeOf(
            DIRECTORY,
            leaves.map(({ cid }, index) => [`${index + 10}`, cid] as const),
          ),
        ]
      }
      const importOf = async (blocks: Block[], options = {}) =>
        engine.pins.importCar(streamOf(await carOf([rootOf(blocks)], blocks)), { account, ...options })
      const refused = { code: 'VALIDATION', message: expect.stringContaining('pin.maxBlocks') }
      const many = folder(50, 'many')
      await expect(importOf(many)).rejects.toMatchObject(refused)
      // Missing blocks count, too.
      await expect(importOf(many.slice(-1), { allowPartial: true })).rejects.toMatchObject(refused)
      await expectNothing(test)
      const [one, other] = [folder(49, 'one'), folder(49, 'other')]
      for (const blocks of [one, other]) expect((await importOf(blocks)).record).toMatchObject({ type: 'directory' })
      const both = identityBlock(CODEC.dagCbor, dagCbor.encode([rootOf(one), rootOf(other)]))
      await expect(engine.pins.pin({ account, cid: `${both.cid}` })).rejects.toMatchObject(refused)
    },
    { pin: { maxBlocks: 50 } },
  )
})

test('a block with a hundred thousand links is imported', async () => {
  await withEngine(async ({ engine, account }) => {
    const links = Array.from({ length: 100_000 }, (_, index) => {
      const number = Buffer.alloc(4)
      number.writeUInt32LE(index)
      return identityBlock(CODEC.raw, number).cid
    })
    const root = blockOf(CODEC.dagCbor, dagCbor.encode(links))
    const car = await carOf([root.cid], [root])
    const { result, turns } = await turnsDuring(() => engine.pins.importCar(streamOf(car), { account }))
    expect(result.record).toMatchObject({ status: 'pinned', dagSize: root.bytes.length })
    expect(turns).toBeGreaterThan(10)
  })
})

test.each([
  ['in a row of the ledger', blockOf(CODEC.raw, Buffer.from('x'))],
  ['in their own CIDs', identityBlock(CODEC.raw, Buffer.from('x'))],
])('blocks of one byte, %s, leave turns to others', async (_, block) => {
  await withEngine(async ({ engine, account }) => {
    const root = leaf(Buffer.from('root'))
    const car = await carOf([root.root], [...root.blocks, ...Array<Block>(30_000).fill(block)])
    const { result, turns } = await turnsDuring(() => engine.pins.importCar(streamOf(car, 1 << 20), { account }))
    expect(result.record.status).toBe('pinned')
    expect(turns).toBeGreaterThan(10)
  })
})
