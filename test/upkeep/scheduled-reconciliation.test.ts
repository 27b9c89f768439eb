import { expect, test } from 'vitest'
import { nextTurn } from '../../src/domain/concurrency/turns.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import type { Reconciled } from '../../src/upkeep/findings.ts'
import { ScheduledReconciliation } from '../../src/upkeep/scheduled-reconciliation.ts'
import { ManualClock } from '../support/manual-clock.ts'

const HOUR_MS = 3_600_000
const seen = { holds: 0, roots: 0, records: 0, fetches: 0, accounts: 0, blocks: 0, files: 0 }
const outcome: Reconciled = {
  ...{ dryRun: false, seen: { ...seen, placements: 0, pins: 0, samples: 0 }, found: {}, findings: [] },
}

test('a node looks an hour after its start, however seldom it is to look, so that one started anew every day looks', async () => {
  const clock = new ManualClock()
  let looks = 0
  const run = async (): Promise<Reconciled> => {
    looks++
    return outcome
  }
  const schedule = new ScheduledReconciliation({ reconciler: { run }, clock, logger: silentLogger }, 24 * HOUR_MS)
  const after = async (ms: number): Promise<number> => {
    clock.advance(ms)
    await nextTurn()
    return looks
  }
  schedule.start()
  expect(await after(HOUR_MS - 1)).toBe(0)
  expect(await after(1)).toBe(1)
  expect(await after(24 * HOUR_MS - 1)).toBe(1)
  expect(await after(1)).toBe(2)
  await schedule.stop()
  expect(await after(48 * HOUR_MS)).toBe(2)
})
