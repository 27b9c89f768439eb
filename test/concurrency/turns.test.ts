import { expect, test } from 'vitest'
import { nextTurn, turnSpent } from '../../src/concurrency/turns.ts'

/** Holds the loop for a fixed time, however fast the machine is. */
function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

test('timers and sockets run between the steps of many walks', async () => {
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const walk = async (): Promise<void> => {
    for (let step = 0; step < 40; step++) {
      if (turnSpent()) await nextTurn()
      work(0.5)
    }
  }
  await Promise.all(Array.from({ length: 5 }, walk))
  isOver = true
  // 100 ms of work, a few of them at a time.
  expect(turns).toBeGreaterThanOrEqual(10)
})

test('walks side by side progress equally', async () => {
  const steps = Array.from({ length: 10 }, () => 0)
  let left = 1000
  const walk = async (index: number): Promise<void> => {
    while (left > 0) {
      if (turnSpent()) await nextTurn()
      work(0.1)
      left--
      steps[index] = (steps[index] ?? 0) + 1
    }
  }
  await Promise.all(steps.map((_, index) => walk(index)))
  expect(Math.max(...steps)).toBeLessThan(5 * Math.min(...steps))
})

test('an abandoned walk ends at its next turn', async () => {
  const gone = new AbortController()
  const walk = nextTurn(gone.signal)
  gone.abort(new Error('gone'))
  await expect(walk).rejects.toThrow('gone')
})
