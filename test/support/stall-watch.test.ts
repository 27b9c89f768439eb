import { expect, test } from 'vitest'
import { StallWatch } from './stall-watch.ts'

const STALL_MS = 300
/** Bounds the loop, so that a broken watcher fails the test instead of hanging it. */
const ENOUGH_STEPS = 2_000_000_000

test('sees a computation that blocks the loop, while it lasts', async () => {
  await using watch = await StallWatch.start()
  let steps = 0
  while (watch.longestMs < STALL_MS && steps < ENOUGH_STEPS) steps++
  expect(watch.longestMs).toBeGreaterThanOrEqual(STALL_MS)
})

test('sees microtasks that starve the loop', async () => {
  await using watch = await StallWatch.start()
  let timerRan = false
  setTimeout(() => {
    timerRan = true
  }, 1)
  let steps = 0
  while (watch.longestMs < STALL_MS && steps < ENOUGH_STEPS / 100) {
    steps++
    await undefined
  }
  expect(timerRan).toBe(false)
  expect(watch.longestMs).toBeGreaterThanOrEqual(STALL_MS)
})

test('sees no stall in a loop that yields, nor after a reset', async () => {
  await using watch = await StallWatch.start()
  while (watch.longestMs < STALL_MS);
  watch.reset()
  const heard = watch.heard
  while (watch.heard < heard + 20) await new Promise<void>(resolve => setImmediate(resolve))
  expect(watch.longestMs).toBeLessThan(STALL_MS)
})
