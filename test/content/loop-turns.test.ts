import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { Verifier } from '../../src/content/verifier.ts'
import { Activity } from '../../src/domain/activity.ts'
import { type ContentParts, rawCid, withContentParts } from '../support/content-parts.ts'

/** Counts the turns of the event loop while something runs. */
async function turnsDuring<T>(run: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  try {
    return { result: await run(), turns }
  } finally {
    isOver = true
  }
}

async function storeSmall({ stage, complete }: ContentParts, count: number): Promise<void> {
  const staged = await stage()
  let root: CID | null = null
  for (let index = 0; index < count; index++) {
    const bytes = Buffer.alloc(1_000, `${index} `)
    root = await staged.put(await rawCid(bytes), bytes)
  }
  if (root !== null) await complete(staged, root)
}

describe('the verifier, over many small blocks,', () => {
  const verifierOf = ({ blocks, store }: ContentParts) => new Verifier(blocks, new Map([[0, store]]), new Activity())

  test('gives the loop back, and ends where its signal aborts', async () => {
    await withContentParts(async parts => {
      await storeSmall(parts, 6_000)
      const { result, turns } = await turnsDuring(() => verifierOf(parts).verify())
      expect(result).toEqual({ blocks: 6_000, bytes: 6_000_000, damaged: [] })
      expect(turns).toBeGreaterThan(3)

      const controller = new AbortController()
      setImmediate(() => controller.abort())
      const { blocks } = await verifierOf(parts).verify({ signal: controller.signal })
      expect(blocks).toBeLessThan(6_000)
    })
  })
})
