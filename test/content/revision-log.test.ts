import { expect, test } from 'vitest'
import { followRevisions, KnownRevision, RevisionLog } from '../../src/content/revision-log.ts'
import { ManualClock } from '../support/manual-clock.ts'

test('a change waits for every thread, in the order of the numbers', async () => {
  const log = new RevisionLog(new ManualClock(), 'a')
  const threads = [log.follow(null), log.follow(3)]
  const decisions = threads.map(() => Promise.withResolvers<void>())
  const seen: number[][] = [[], []]
  for (const [index, thread] of threads.entries()) {
    void followRevisions(
      confirmed => thread.next(confirmed),
      async () => {
        seen[index]?.push(log.number)
        await decisions[index]?.promise
      },
    )
  }
  log.publish()
  log.publish()
  let pending: unknown
  const waiting = log.pending(2).then(left => {
    pending = left
  })
  decisions[0]?.resolve()
  await expect.poll(() => threads.map(({ isAwaited }) => isAwaited)).toEqual([false, true])
  expect(pending).toBeUndefined()
  decisions[1]?.resolve()
  await waiting
  expect(pending).toEqual([])
  expect(seen.map(numbers => numbers.at(-1))).toEqual([2, 2])
  expect(new KnownRevision(log.memory).number).toBe(2)
})

test('a change names the threads that do not confirm in time', async () => {
  const clock = new ManualClock()
  const log = new RevisionLog(clock, null)
  log.follow(null)
  const thread = log.follow(2)
  log.publish()
  const pending = log.pending(1)
  clock.advance(5_000)
  expect(await pending).toEqual([
    { node: null, thread: null },
    { node: null, thread: 2 },
  ])
  const next = thread.next(1)
  thread.end()
  await expect(next).rejects.toThrow('ended')
})

test('a thread that ends or starts later is not waited for', async () => {
  const log = new RevisionLog(new ManualClock(), null)
  const thread = log.follow(1)
  log.publish()
  const pending = log.pending(1)
  thread.end()
  log.follow(1)
  expect(await pending).toEqual([])
})

test('numbers never go back', () => {
  const log = new RevisionLog(new ManualClock(), null)
  log.publish(7)
  log.publish(5)
  expect(log.number).toBe(7)
})
