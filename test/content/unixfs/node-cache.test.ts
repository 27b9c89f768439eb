import { expect, test } from 'vitest'
import { NodeCache } from '../../../src/content/unixfs/node-cache.ts'
import { rawCid } from '../../support/content-parts.ts'

test('reads a small raw block once, and a large one each time', async () => {
  const cache = new NodeCache()
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
  const cache = new NodeCache(10_000)
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
