import { expect, test } from 'vitest'
import { RepairPace } from '../../src/upkeep/repair-pace.ts'
import { ManualClock } from '../support/manual-clock.ts'

/** Lets promises settle. */
const turn = () => new Promise(resolve => setImmediate(resolve))

test('amounts follow each other at the rate', async () => {
  const clock = new ManualClock()
  const pace = new RepairPace(1_000, clock)
  const { signal } = new AbortController()
  const taken: number[] = []
  for (let i = 0; i < 3; i++) void pace.take(500, signal).then(() => taken.push(i))
  await turn()
  expect(taken).toEqual([0])
  clock.advance(499)
  await turn()
  expect(taken).toEqual([0])
  clock.advance(501)
  await turn()
  expect(taken).toEqual([0, 1, 2])
  clock.advance(10_000)
  // Time without work is not saved up.
  for (let i = 3; i < 5; i++) void pace.take(500, signal).then(() => taken.push(i))
  await turn()
  expect(taken).toEqual([0, 1, 2, 3])
})

test('an abort ends a wait and its timer', async () => {
  const clock = new ManualClock()
  const pace = new RepairPace(1, clock)
  const ending = new AbortController()
  await pace.take(10, ending.signal)
  const waits = pace.take(1, ending.signal)
  ending.abort(new Error('the end'))
  await expect(waits).rejects.toThrow('the end')
  expect(clock.waiting).toBe(0)
})
