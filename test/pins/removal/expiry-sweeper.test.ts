import { expect, test } from 'vitest'
import type { Records } from '../../../src/catalogue/records.ts'
import { silentLogger } from '../../../src/domain/logger.ts'
import { PinChanges } from '../../../src/pins/pin-changes.ts'
import { ExpirySweeper } from '../../../src/pins/removal/expiry-sweeper.ts'
import { turns } from '../../support/content-parts.ts'
import { ManualClock } from '../../support/manual-clock.ts'

/** The database's clock may be behind, so it still has a record whose timelock has ended on this node. */
test('a sweep that removed nothing is repeated after a second', async () => {
  const clock = new ManualClock()
  let sweeps = 0
  const expire = async () => {
    sweeps++
    return []
  }
  const records = { nextExpiry: async () => clock.now() - 1, expire } as unknown as Records
  const changes = new PinChanges({ emit: () => undefined } as never)
  const sweeper = new ExpirySweeper({ records, clock, changes, leaveFetch: () => undefined, logger: silentLogger })
  sweeper.start()
  for (const [ms, expected] of [
    [0, 1],
    [0, 1],
    [999, 1],
    [1, 2],
    [0, 2],
  ] as const) {
    await turns(2)
    clock.advance(ms)
    await turns(2)
    expect(sweeps).toBe(expected)
  }
  await sweeper.stop()
})
