import { expect, test } from 'vitest'
import { pseudoRandom } from '../support/bytes.ts'
import { rawCid, turns, withContentParts } from '../support/content-parts.ts'

test('a held collector deletes nothing, and everything after its release', async () => {
  await withContentParts(async parts => {
    const { collector, blocks } = parts
    const staged = await parts.stage()
    const bytes = pseudoRandom(5_000, 'held')
    const cid = await rawCid(bytes)
    await staged.put(cid, bytes)
    await staged.settle()
    await parts.complete(staged, cid)
    await parts.drop(staged)
    const releases = [await collector.hold(), await collector.hold()]
    let isOver = false
    const collected = collector.collect(0).finally(() => {
      isOver = true
    })
    for (const release of releases) {
      await turns(20)
      expect([isOver, blocks.find(0, cid.multihash.bytes)?.state]).toEqual([false, 'durable'])
      release()
    }
    expect(await collected).toMatchObject({ blocks: 1 })
    expect(blocks.find(0, cid.multihash.bytes)).toBeUndefined()
  })
})

test('stopping a held collector does not wait', async () => {
  await withContentParts(async ({ collector }) => {
    await collector.hold()
    const collected = collector.collect(0)
    await collector.stop()
    expect(await collected).toMatchObject({ blocks: 0 })
  })
})
