import { expect, test } from 'vitest'
import { toFetch } from '../../adapters/fetch/index.ts'
import { SCOPES } from '../../src/index.ts'
import { HISTORY_STEPS, History, type HistorySample } from '../../src/upkeep/history.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { withEngine } from '../support/test-engine.ts'

const MINUTE = 60_000
const asked = { surface: 'api', method: 'GET', route: null, code: null, source: null, ms: 1 } as const

test('requests and bytes count in the span of their answer', () => {
  const clock = new ManualClock()
  const history = new History(clock)
  history.request({ ...asked, status: 200, bytesIn: 10 })
  history.answered(7)
  clock.advance(MINUTE)
  history.request({ ...asked, status: 404, bytesIn: 0 })
  history.request({ ...asked, status: 500, bytesIn: 1 })
  expect(history.samples(60)).toMatchObject([
    { at: clock.now() - MINUTE, requests: 1, refused: 0, failed: 0, receivedBytes: 10, sentBytes: 7 },
    { at: clock.now(), requests: 2, refused: 1, failed: 1, receivedBytes: 1, sentBytes: 0 },
  ])
  expect(history.samples(900)).toMatchObject([{ requests: 3, receivedBytes: 11, sentBytes: 7 }])
})

test('the metrics of the host get every event, too', () => {
  const told: unknown[] = []
  const history = new History(new ManualClock(), {
    request: ({ status }) => told.push(status),
    answered: bytes => told.push(bytes),
    collected: freed => told.push(freed),
  })
  history.request({ ...asked, status: 200, bytesIn: 1 })
  history.answered(7)
  history.collected({ roots: 1, blocks: 2, bytes: 3 })
  expect(told).toEqual([200, 7, { roots: 1, blocks: 2, bytes: 3 }])
})

test('history stays bounded, and survives a clock that is set back', () => {
  const clock = new ManualClock()
  const history = new History(clock)
  for (let minutes = 0; minutes < 5 * 24 * 60; minutes += 1) {
    clock.advance(MINUTE)
    history.request({ ...asked, status: 200, bytesIn: 0 })
  }
  expect(HISTORY_STEPS.map(step => history.samples(step).length)).toEqual([180, 288])
  const hour = history.samples(60)
  expect((hour.at(-1)?.at ?? 0) - (hour[0]?.at ?? 0)).toBe(179 * MINUTE)
  const before = new History({ now: () => clock.now(), after: () => () => undefined })
  before.request({ ...asked, status: 200, bytesIn: 0 })
  expect(before.samples(60)).toHaveLength(1)
})

test('gauges are read every minute until the node stops', () =>
  withEngine(async ({ engine, account, clock }) => {
    let keys = 0
    const ask = async () => {
      const { secret } = await engine.keys.create(owner.id, { name: `key${keys++}`, scopes: SCOPES })
      const headers = { authorization: `Bearer ${secret}` }
      const answer = await toFetch(engine)(new Request('http://localhost/admin/v1/history', { headers }))
      return ((await answer.json()) as { samples: HistorySample[] }).samples
    }
    const owner = (await engine.accounts.ensureOwner()).account
    clock.advance(0)
    await engine.pins.upload('watched', { account })
    clock.advance(MINUTE)
    await expect.poll(async () => (await ask()).at(-1)).toMatchObject({ pins: 1, storedBytes: 7, peers: 0 })
    const last = (await ask()).at(-1)
    expect(last?.freeBytes).toBeGreaterThan(0)
    expect(last?.requests).toBeGreaterThan(0)
    expect(last?.sentBytes).toBeGreaterThan(0)
  }))
