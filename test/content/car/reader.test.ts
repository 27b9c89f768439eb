import * as dagCbor from '@ipld/dag-cbor'
import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { LARGEST_CAR_BLOCK, readCar } from '../../../src/content/car/car-reader.ts'
import { CODEC } from '../../../src/ipld/cid.ts'
import { blockOf, identityBlock, leaves, randomFile } from '../../pins/fetches/support/dags.ts'
import { pieces } from '../../support/bytes.ts'
import { type Block, carOf, headerOf, sectionOf, streamOf, version2 } from './support/cars.ts'

/** Returns everything in a CAR, as text. */
async function contentOf(source: AsyncIterable<Uint8Array>): Promise<{ roots: string[]; blocks: string[] }> {
  const { roots, blocks } = await readCar(source)
  const read: string[] = []
  for await (const { cid, bytes } of blocks) read.push(`${cid} ${Buffer.from(bytes).toString('base64')}`)
  return { roots: roots.map(root => root.toString()), blocks: read }
}

function expected(roots: readonly CID[], blocks: readonly Block[]) {
  return {
    roots: roots.map(root => root.toString()),
    blocks: blocks.map(({ cid, bytes }) => `${cid} ${Buffer.from(bytes).toString('base64')}`),
  }
}

const file = randomFile(3, 500, 'reader')
const versionZero = file.root.toV0()
const some: Block[] = [
  ...file.blocks,
  { cid: versionZero, bytes: file.blocks[0]?.bytes ?? new Uint8Array(0) },
  identityBlock(CODEC.raw, Buffer.from('in itself')),
  blockOf(CODEC.raw, new Uint8Array(0)),
  ...leaves(1, 70_000, 'larger'),
].flatMap(item => ('blocks' in item ? item.blocks : [item]))
const roots = [file.root, versionZero]

describe('a CAR', () => {
  test.each([1, 2, 3, 100, 16_384, 1_000_000])('is read in pieces of %i bytes', async length => {
    const car = await carOf(roots, some)
    expect(await contentOf(streamOf(car, length))).toEqual(expected(roots, some))
    expect(await contentOf(streamOf(version2(car), length))).toEqual(expected(roots, some))
  })

  test('is read with empty pieces between, and from reused memory', async () => {
    const car = await carOf(roots, some)
    const memory = Buffer.alloc(10)
    const reusing = async function* (): AsyncGenerator<Uint8Array> {
      for (const piece of pieces(car, Array(car.length).fill(10))) {
        yield new Uint8Array(0)
        memory.fill(0xff)
        memory.set(piece)
        yield memory.subarray(0, piece.length)
      }
    }
    expect(await contentOf(reusing())).toEqual(expected(roots, some))
  })

  test('may have any payload offset in version 2, and no index', async () => {
    const car = await carOf(roots, some)
    for (const options of [{ padding: 0 }, { padding: 5_000 }, { index: new Uint8Array(0) }]) {
      expect(await contentOf(streamOf(version2(car, options)))).toEqual(expected(roots, some))
    }
  })

  test('that is cut anywhere is refused or ends with a block', async () => {
    const blocks = file.blocks
    const car = await carOf([file.root], blocks)
    const ends = new Set<number>()
    let end = (await carOf([file.root], [])).length
    ends.add(end)
    for (const { cid, bytes } of blocks) {
      end += sectionOf(cid.bytes, bytes).length
      ends.add(end)
    }
    expect(end).toBe(car.length)
    for (let length = 0; length < car.length; length++) {
      const read = contentOf(streamOf(car.subarray(0, length)))
      if (!ends.has(length)) await expect(read, `${length}`).rejects.toMatchObject({ code: 'VALIDATION' })
      else expect((await read).blocks).toHaveLength([...ends].indexOf(length))
    }
    const second = version2(car, { index: new Uint8Array(0) })
    for (let length = 0; length < second.length; length++) {
      const read = contentOf(streamOf(second.subarray(0, length)))
      await expect(read, `${length}`).rejects.toMatchObject({ code: 'VALIDATION' })
    }
  })

  test('with trailing bytes is refused', async () => {
    const car = await carOf([file.root], file.blocks)
    for (const tail of [Buffer.alloc(1), Buffer.alloc(500), Buffer.from([0xff]), Buffer.alloc(9, 0xff)]) {
      const read = contentOf(streamOf(Buffer.concat([car, tail])))
      await expect(read).rejects.toMatchObject({ code: 'VALIDATION' })
    }
  })
})

describe('sizes', () => {
  test('that reach the limit of a block are read, larger ones refused', async () => {
    const most = blockOf(CODEC.raw, new Uint8Array(LARGEST_CAR_BLOCK))
    const car = await carOf([most.cid], [most])
    expect((await contentOf(streamOf(car, 1_000_000))).blocks).toHaveLength(1)
    const over = blockOf(CODEC.raw, new Uint8Array(LARGEST_CAR_BLOCK + 1))
    const read = contentOf(streamOf(await carOf([over.cid], [over]), 1_000_000))
    await expect(read).rejects.toMatchObject({ code: 'VALIDATION', message: expect.stringContaining('4194304') })
  })

  test.each([
    ['a block of 4 GiB', 2 ** 32],
    ['a block of 8 PiB', 2 ** 53],
  ])('that are too large, %s, are refused before a read', async (_, length) => {
    let asked = 0
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield headerOf({ version: 1, roots: [file.root] })
      const digits: number[] = []
      for (let rest = length; rest > 0; rest = Math.floor(rest / 128)) digits.push((rest % 128) + 128)
      digits.push(0)
      yield Buffer.from(digits)
      for (;;) {
        asked++
        yield new Uint8Array(1_000)
      }
    }
    await expect(contentOf(source())).rejects.toMatchObject({ code: 'VALIDATION' })
    expect(asked).toBe(0)
  })

  test('in gigabytes for a header are refused before a read', async () => {
    const source = streamOf(Buffer.concat([Buffer.from([0x80, 0x80, 0x80, 0x80, 0x04]), Buffer.alloc(100)]))
    await expect(contentOf(source)).rejects.toMatchObject({ code: 'VALIDATION' })
  })

  test('in a header of version 2 have to be possible', async () => {
    const car = await carOf([file.root], file.blocks)
    const good = version2(car)
    const start = 11 + 16
    const broken = (offset: number, value: bigint): Buffer => {
      const bytes = Buffer.from(good)
      bytes.writeBigUInt64LE(value, start + offset)
      return bytes
    }
    const bad = [
      broken(0, 0n),
      broken(0, 2n ** 64n - 1n),
      broken(0, 50n),
      broken(8, 0n),
      broken(8, 2n ** 63n),
      broken(8, BigInt(car.length - 1)),
      broken(8, BigInt(car.length + 10_000)),
      version2(good),
    ]
    for (const bytes of bad) await expect(contentOf(streamOf(bytes))).rejects.toMatchObject({ code: 'VALIDATION' })
  })
})

test.each([
  ['no object', dagCbor.encode(1)],
  ['no version', dagCbor.encode({ roots: [] })],
  ['a version as text', dagCbor.encode({ version: '1', roots: [] })],
  ['roots that are no list', dagCbor.encode({ version: 1, roots: 1 })],
  ['roots that are no CIDs', dagCbor.encode({ version: 1, roots: ['bafy'] })],
  ['bytes that are no CBOR', Buffer.from([0xff, 0xff])],
  ['more than one value', Buffer.concat([dagCbor.encode({ version: 1, roots: [] }), Buffer.from([0])])],
  ['lists in lists without end', Buffer.alloc(1_000_000, 0x81)],
])('a header with %s is refused', async (_, header) => {
  await expect(contentOf(streamOf(sectionOf(header)))).rejects.toMatchObject({ code: 'VALIDATION' })
})
