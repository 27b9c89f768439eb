import { CarReader } from '@ipld/car'
import { expect, test } from 'vitest'
import { carOf, SMALL_DAG_BYTES, smallDag } from '../../../adapters/remote/small-dag.ts'
import { cidOf } from '../../../src/ipld/cid.ts'
import { Outside } from '../../clusters/backend.suite.ts'
import { collect, pseudoRandom } from '../../support/bytes.ts'

const live = new AbortController().signal

test('returns all blocks of a small DAG, the root first', async () => {
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

test('stops reading a DAG once it is too large', async () => {
  const outside = new Outside()
  const root = await outside.add(pseudoRandom(20 * 1024 ** 2, 'large'))
  expect(await smallDag(root, outside, live)).toBeNull()
  expect(outside.reads).toHaveLength(2)
})

test('rejects an incomplete DAG, and reads nothing after an abort', async () => {
  const outside = new Outside()
  const root = await outside.add(Buffer.from('few'))
  outside.missing.add(root.toString())
  expect(await smallDag(root, outside, live)).toBeNull()
  await expect(smallDag(root, outside, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
})

test('reads no block for an identity CID', async () => {
  const outside = new Outside()
  const inline = cidOf({ codec: 0x55, multihash: Uint8Array.from([0, 3, 1, 2, 3]) })
  expect(await smallDag(inline, outside, live)).toEqual([])
  expect(outside.reads).toEqual([])
})
