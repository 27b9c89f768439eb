import { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { SharedBlocks } from '../../../src/content/dag/fetch.ts'
import { sha256 } from '../../../src/ipld/block-hash.ts'
import type { FetchSession } from '../../../src/network/block-fetcher.ts'
import { freeLone, noteLone } from '../../../src/network/lone-blocks.ts'

const block = Buffer.alloc(100_000, 1)
const cid = CID.createV1(0x55, await sha256(block))
const { signal } = new AbortController()

/** Returns a block in memory that it shares with no other. */
function session(): FetchSession & { asked: number } {
  return {
    asked: 0,
    async get() {
      this.asked++
      const bytes = Uint8Array.from(block)
      noteLone(bytes)
      return bytes
    },
    providers: () => [],
    close: () => undefined,
  }
}

test('a block for one fetch may be freed by it', async () => {
  const shared = new SharedBlocks()
  const bytes = await shared.get(session(), cid, 0, signal)
  freeLone(bytes)
  expect(bytes.length).toBe(0)
})

test('a block for several fetches is requested once, and never freed', async () => {
  const shared = new SharedBlocks()
  const first = session()
  const got = [first, session(), session()].map(async each => {
    const bytes = await shared.get(each, cid, 0, signal)
    freeLone(bytes)
    return bytes.length
  })
  expect(await Promise.all(got)).toEqual([block.length, block.length, block.length])
  expect(first.asked).toBe(1)
})

test('fetches of two owners share no request', async () => {
  const shared = new SharedBlocks()
  const [own, other] = [session(), session()]
  const got = await Promise.all([shared.get(own, cid, 7, signal), shared.get(other, cid, 8, signal)])
  expect(got[0]).not.toBe(got[1])
})
