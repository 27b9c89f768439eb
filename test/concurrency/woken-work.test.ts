import { expect, test } from 'vitest'
import { WokenWork, warned } from '../../src/concurrency/woken-work.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { silentLogger } from '../../src/domain/logger.ts'

function started(run: (signal: AbortSignal) => Promise<void>) {
  const warnings: unknown[] = []
  const logger = { ...silentLogger, warn: (_: object, text?: string) => void warnings.push(text) }
  return { work: new WokenWork(run, { name: 'work', failed: warned(logger, 'the work failed') }), warnings }
}

test('runs once more if it is woken during a run', async () => {
  let runs = 0
  const gate = Promise.withResolvers<void>()
  const { work } = started(async () => {
    runs++
    await gate.promise
  })
  work.wake()
  await expect.poll(() => runs).toBe(1)
  for (let i = 0; i < 5; i++) work.wake()
  gate.resolve()
  await work.settled()
  expect(runs).toBe(2)
  await work.stop()
  work.wake()
  expect(runs).toBe(2)
})

test('warns of failures, except of a database that is down', async () => {
  const errors = [new Error('a bug'), new HoldfastError('UNAVAILABLE', 'no database')]
  const { work, warnings } = started(async () => {
    const error = errors.shift()
    if (error !== undefined) throw error
  })
  for (let left = 2; left >= 0; left--) {
    work.wake()
    await expect.poll(() => errors.length).toBe(Math.max(0, left - 1))
  }
  await work.stop()
  expect(warnings).toEqual(['the work failed'])
})

test('a stop aborts the run and waits for its end', async () => {
  let isEnded = false
  const begun = Promise.withResolvers<void>()
  const { work, warnings } = started(async signal => {
    begun.resolve()
    await new Promise(resolve => signal.addEventListener('abort', resolve))
    await Promise.resolve()
    isEnded = true
    throw signal.reason
  })
  work.wake()
  await begun.promise
  await work.stop()
  expect([isEnded, warnings]).toEqual([true, []])
})
