import { expect } from 'vitest'
import { EMPTY, storeSizes } from './store-inspection.ts'
import type { TestEngine } from './test-engine.ts'

/** Expects that a refused request has left no record, no usage and, after a collection, no blocks. */
export async function expectNothing({ engine, account, dataDir }: TestEngine, of = account): Promise<void> {
  expect(await engine.pins.list({ account: of })).toMatchObject({ items: [], total: 0 })
  expect(await engine.pins.usage(of)).toEqual({ pins: 0, storedBytes: 0, keptBytes: 0 })
  await engine.collect({ graceSeconds: 0 })
  expect(await storeSizes(dataDir)).toEqual(EMPTY)
}
