import { expect, test } from 'vitest'
import { Pace } from '../../src/backup/pace.ts'
import { ManualClock } from '../support/manual-clock.ts'

test('a rate ends at an abort, before and during its wait', async () => {
  const pace = new Pace(1, new ManualClock(0))
  const [before, during] = [AbortSignal.abort(new Error('before')), new AbortController()]
  await expect(pace.spend(1_000, before)).rejects.toThrow('before')
  const spent = pace.spend(1_000, during.signal)
  during.abort(new Error('during'))
  await expect(spent).rejects.toThrow('during')
})
