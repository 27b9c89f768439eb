import { describe, expect, test } from 'vitest'
import { ReadinessProbes } from '../../src/http/readiness-probes.ts'
import { ManualClock } from '../support/manual-clock.ts'

/** Begins to wait. Returns a function that says whether the wait is over. */
function wait(probes: ReadinessProbes, ms: number, hasOtherNodes = false) {
  let isOver = false
  void probes.noticed(ms, hasOtherNodes).then(() => {
    isOver = true
  })
  return async (): Promise<boolean> => {
    await new Promise(resolve => setImmediate(resolve))
    return isOver
  }
}

function watched(clock: ManualClock): ReadinessProbes {
  const probes = new ReadinessProbes(clock)
  for (let i = 0; i < 3; i++) {
    clock.advance(10_000)
    probes.answered('gateway', true)
  }
  return probes
}

describe('the notice before a stop', () => {
  test('takes no time if nothing asks /ready', async () => {
    const clock = new ManualClock()
    const probes = new ReadinessProbes(clock)
    expect(await wait(probes, 60_000)()).toBe(true)
    probes.answered('api', true)
    expect(await wait(probes, 60_000)(), 'after a single answer').toBe(true)
    clock.advance(40_000)
    probes.answered('api', true)
    expect(await wait(probes, 60_000)(), 'after an answer long ago').toBe(true)
    expect(clock.waiting).toBe(0)
  })

  test('takes five seconds for other nodes', async () => {
    const clock = new ManualClock()
    const isOver = wait(new ReadinessProbes(clock), 60_000, true)
    clock.advance(4_999)
    expect(await isOver()).toBe(false)
    clock.advance(1)
    expect(await isOver()).toBe(true)
  })

  test('lasts until a load balancer was refused three times', async () => {
    const clock = new ManualClock()
    const probes = watched(clock)
    probes.answered('api', false)
    const isOver = wait(probes, 60_000)
    clock.advance(5_000)
    for (let i = 0; i < 3; i++) {
      expect(await isOver()).toBe(false)
      probes.answered('gateway', false)
    }
    expect(await isOver()).toBe(true)
    expect(clock.waiting).toBe(0)
  })

  test('lasts thirty seconds at most, and no longer than it may', async () => {
    for (const [ms, most] of [
      [60_000, 30_000],
      [12_000, 12_000],
      [3_000, 3_000],
    ] as const) {
      const clock = new ManualClock()
      const isOver = wait(watched(clock), ms)
      clock.advance(Math.min(most, 5_000) - 1)
      expect(await isOver()).toBe(false)
      clock.advance(1)
      await isOver()
      clock.advance(most - Math.min(most, 5_000))
      expect(await isOver()).toBe(true)
    }
  })
})
