import { expect, test } from 'vitest'
import { Pace } from '../../src/concurrency/pace.ts'
import { ManualClock } from '../support/manual-clock.ts'

/** Lets promises settle. */
const turn = () => new Promise(resolve => setImmediate(resolve))

test('amounts follow each other at the rate', async () => {
  const clock = new ManualClock()
  const pace = new Pace(1_000, clock)
  const taken: number[] = []
  const take = (i: number) => void pace.spend(500).then(() => taken.push(i))
  const after = async (ms: number) => {
    clock.advance(ms)
    await turn()
    return taken.length
  }
  // A second without work is saved up, and no more.
  for (let i = 0; i < 4; i++) take(i)
  expect([await after(0), await after(499), await after(1), await after(499), await after(1)]).toEqual([2, 2, 3, 3, 4])
  clock.advance(10_000)
  for (let i = 4; i < 7; i++) take(i)
  expect([await after(0), await after(500)]).toEqual([6, 7])
})

test('a clock that is set back delays no amount for long', async () => {
  const clock = new ManualClock(1_000_000)
  const pace = new Pace(1_000, clock)
  await pace.spend(500)
  clock.advance(-900_000)
  let isTaken = false
  void pace.spend(500).then(() => {
    isTaken = true
  })
  clock.advance(1_500)
  await turn()
  expect(isTaken).toBe(true)
})

test('a rate ends at an abort, before and during its wait', async () => {
  const clock = new ManualClock(0)
  const pace = new Pace(1, clock)
  const [before, during] = [AbortSignal.abort(new Error('before')), new AbortController()]
  await expect(pace.spend(1_000, before)).rejects.toThrow('before')
  const spent = pace.spend(1_000, during.signal)
  during.abort(new Error('during'))
  await expect(spent).rejects.toThrow('during')
  expect(clock.waiting).toBe(0)
})
