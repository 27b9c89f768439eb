import { expect, test } from 'vitest'
import { NodeCache } from '../../../src/content/unixfs/node-cache.ts'
import { rawCid } from '../../support/content-parts.ts'
import { ManualClock } from '../../support/manual-clock.ts'

test('reads a small raw block once, and a large one each time', async () => {
  const cache = new NodeCache(new ManualClock())
  for (const [size, reads] of [
    [4_096, 1],
    [32 * 1024, 1],
    [32 * 1024 + 1, 3],
  ] as const) {
    const bytes = Buffer.alloc(size, size % 251)
    const cid = await rawCid(bytes)
    let count = 0
    for (let i = 0; i < 3; i++) {
      const { block, node } = await cache.load(cid, async () => {
        count++
        return bytes
      })
      expect([block, node.kind]).toEqual([bytes, 'file'])
    }
    expect([size, count]).toEqual([size, reads])
  }
})

test('keeps small raw blocks within its memory', async () => {
  const cache = new NodeCache(new ManualClock(), 12_500)
  let count = 0
  for (const fill of [1, 2, 3, 1]) {
    const bytes = Buffer.alloc(4_096, fill)
    await cache.load(await rawCid(bytes), async () => {
      count++
      return bytes
    })
  }
  expect(count).toBe(4)
})

test('drops blocks that nobody has used for five minutes', async () => {
  const clock = new ManualClock()
  const cache = new NodeCache(clock)
  const read: number[] = []
  const load = async (fill: number): Promise<void> => {
    const bytes = Buffer.alloc(100, fill)
    await cache.load(await rawCid(bytes), async () => {
      read.push(fill)
      return bytes
    })
  }
  await load(1)
  await load(2)
  clock.advance(200_000)
  await load(1)
  clock.advance(200_000)
  await load(3)
  await load(1)
  await load(2)
  expect(read).toEqual([1, 2, 3, 2])
})
