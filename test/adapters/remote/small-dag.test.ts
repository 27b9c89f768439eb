import { CarReader } from '@ipld/car'
import { expect, test } from 'vitest'
import { carOf, SMALL_DAG_BYTES, smallDag } from '../../../adapters/remote/small-dag.ts'
import { cidOf } from '../../../src/ipld/cid.ts'
import { Outside } from '../../clusters/backend.suite.ts'
import { collect, pseudoRandom } from '../../support/bytes.ts'

const live = new AbortController().signal

test('a DAG of few bytes is all of its blocks, its root first', async () => {
  const outside = new Outside()
  const file = await outside.add(pseudoRandom(SMALL_DAG_BYTES, 'one block'))
  expect(await smallDag(file, outside, live)).toMatchObject([{ cid: file }])
  const folder = await outside.addFolder([pseudoRandom(20_000, 'a'), pseudoRandom(30_000, 'b'), Buffer.alloc(0)])
  const blocks = (await smallDag(folder, outside, live)) ?? []
  expect(blocks).toHaveLength(4)
  expect(blocks[0]?.cid.equals(folder)).toBe(true)
  const car = await CarReader.fromBytes(await collect(carOf(folder, blocks)))
  expect((await car.getRoots()).map(String)).toEqual([folder.toString()])
  for (const { cid, bytes } of blocks) expect((await car.get(cid))?.bytes).toEqual(bytes)
})

test('of a larger one no more is read than shows that it is', async () => {
  const outside = new Outside()
  const root = await outside.add(pseudoRandom(20 * 1024 ** 2, 'large'))
  expect(await smallDag(root, outside, live)).toBeNull()
  expect(outside.reads).toHaveLength(2)
})

test('one that is not whole is none, and one that nobody waits for is not read', async () => {
  const outside = new Outside()
  const root = await outside.add(Buffer.from('few'))
  outside.missing.add(root.toString())
  expect(await smallDag(root, outside, live)).toBeNull()
  await expect(smallDag(root, outside, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
})

test('what a CID has in itself needs no block', async () => {
  const outside = new Outside()
  const inline = cidOf({ codec: 0x55, multihash: Uint8Array.from([0, 3, 1, 2, 3]) })
  expect(await smallDag(inline, outside, live)).toEqual([])
  expect(outside.reads).toEqual([])
})
