import { expect, test } from 'vitest'
import { silentLogger } from '../../../src/domain/logger.ts'
import { attemptMaker } from '../../../src/pins/fetch/fetch-attempt.ts'
import { FetchScheduler } from '../../../src/pins/fetch/fetch-scheduler.ts'
import { NO_LIMITS, record, request } from '../../catalogue/content-support.ts'
import { memoryCatalogue } from '../../catalogue/memory-catalogue.ts'
import { turns } from '../../support/content-parts.ts'
import { ManualClock } from '../../support/manual-clock.ts'

/** Makes attempts that all fail, because no backend is configured, and a catalogue whose methods can fail. */
async function world() {
  const catalogue = memoryCatalogue(new Set())
  await catalogue.accounts.insert(
    {
      ...{ id: 'one', email: 'one@test', name: null, plan: 'unlimited', role: 'user', defaultCluster: null },
      ...{ disabled: false, owner: null, defaultVisibility: 'public' as const, createdAt: 0 },
    },
    null,
  )
  const clock = new ManualClock(1_000)
  const broken = new Set<string | symbol>()
  const fetches = new Proxy(catalogue.fetches, {
    get: (target, name) =>
      broken.has(name) ? () => Promise.reject(new Error('not now')) : Reflect.get(target, name).bind(target),
  })
  const scheduler = new FetchScheduler(
    {
      ...{ fetches, records: catalogue.records, clock, limitsOf: async () => NO_LIMITS, backendOf: () => undefined },
      ...{ bounds: {} as never, times: { stallMs: 1_000, attemptMs: 10_000 } },
      onChanges: () => undefined,
      isHere: () => false,
      deletion: { isHeld: false, dropped: () => undefined },
      fetchingBackends: { of: () => null, placements: catalogue.placements, wake: () => undefined },
    },
    silentLogger,
  )
  const { fetchId } = await request(catalogue, record('pin'))
  await scheduler.start({ open: () => Promise.reject(new Error('nobody')) } as never, attemptMaker)
  const attempts = async (): Promise<number> => (await catalogue.fetches.get(fetchId ?? 0))?.attempts ?? 0
  const status = async (): Promise<string | undefined> => (await catalogue.records.get('pin'))?.status
  return { clock, broken, scheduler, fetchId: fetchId ?? 0, attempts, status }
}

test('an attempt whose end could not be recorded is repeated', async () => {
  const { clock, broken, scheduler, attempts, status } = await world()
  broken.add('fail').add('dropOrRepeat')
  for (let i = 0; i < 5; i++) {
    await turns(20)
    clock.advance(1_000)
  }
  expect([await attempts(), await status()]).toEqual([1, 'pinning'])
  broken.clear()
  for (let i = 0; i < 2; i++) {
    clock.advance(1_000)
    await turns(20)
  }
  expect([await attempts(), await status()]).toEqual([2, 'failed'])
  await scheduler.stop()
})

test('leaving a fetch succeeds even if the catalogue cannot be read', async () => {
  const { broken, scheduler, fetchId } = await world()
  await turns(20)
  broken.add('dropIfUnneeded').add('isWanted')
  await expect(scheduler.subscribersChanged(fetchId)).rejects.toThrow('not now')
  await scheduler.left(fetchId)
  await scheduler.stop()
})
