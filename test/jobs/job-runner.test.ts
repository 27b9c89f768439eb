import { expect, test } from 'vitest'
import type { HoldfastError } from '../../src/domain/errors.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { type Attempt, type Job, type JobKind, JobRunner } from '../../src/jobs/job-runner.ts'
import { turns } from '../support/content-parts.ts'
import { ManualClock } from '../support/manual-clock.ts'

interface Row extends Job {
  dueAt: number | null
}

/** An attempt that ends when the test ends it. */
class Held implements Attempt<Row> {
  readonly job: Row
  readonly ending = Promise.withResolvers<void>()

  constructor(job: Row) {
    this.job = job
  }

  run(): Promise<void> {
    return this.ending.promise
  }

  abort(reason: HoldfastError): void {
    this.ending.reject(reason)
  }
}

/** A runner over jobs in memory, with room for two attempts. A query reads `each` jobs per account. */
function world(names: readonly string[], each = 1) {
  const clock = new ManualClock()
  const rows: Row[] = names.map((accountId, id) => ({ id, accountId, attempts: 0, dueAt: clock.now() }))
  const made: Held[] = []
  const seen = { queries: 0, rows: 0 }
  const faults = new Set<'begin' | 'failed' | 'makeDue'>()
  const meet = (step: 'begin' | 'failed' | 'makeDue'): void => {
    if (faults.has(step)) throw new Error('nothing can be stored now')
  }
  const kind: JobKind<Row, Held> = {
    name: 'jobs',
    pauses: { firstMs: 1_000, longestMs: 4_000 },
    batch: { accounts: 2, each },
    perAccount: 2,
    fullMs: 60_000,
    async due({ now, after, accounts, each }) {
      seen.queries++
      const waiting = rows.filter(({ dueAt }) => dueAt !== null)
      const asked = [...new Set(waiting.map(({ accountId }) => accountId))].toSorted().filter(name => name > after)
      const shown = asked.slice(0, accounts)
      const jobs = shown.flatMap(name =>
        waiting.filter(row => row.accountId === name && Number(row.dueAt) <= now).slice(0, each),
      )
      seen.rows = Math.max(seen.rows, jobs.length)
      return { jobs, last: shown.length < accounts ? null : (shown.at(-1) ?? null) }
    },
    async nextDue() {
      const times = rows.flatMap(({ dueAt }) => dueAt ?? [])
      return times.length === 0 ? null : Math.min(...times)
    },
    isFull: running => [...running].length >= 2,
    attempt: row => new Held(row),
    async begin({ job: row }) {
      if (row.dueAt === null) return undefined
      row.attempts++
      row.dueAt = null
      meet('begin')
      return { ...row }
    },
    async failed({ job }, _, { retryAt }) {
      meet('failed')
      job.dueAt = retryAt
    },
    async makeDue(id) {
      meet('makeDue')
      for (const row of rows) if (row.id === id) row.dueAt = clock.now()
    },
  }
  const runner = new JobRunner(
    {
      ...kind,
      attempt: row => {
        const attempt = kind.attempt(row)
        made.push(attempt)
        return attempt
      },
    },
    { clock, logger: silentLogger },
  )
  const end = async (attempt: Held | undefined): Promise<void> => {
    if (attempt === undefined) throw new Error('there is no such attempt')
    attempt.job.dueAt = null
    attempt.ending.resolve()
    await turns(20)
  }
  return { clock, rows, made, seen, runner, end, faults }
}

test('lets accounts take turns, and reads few jobs per query', async () => {
  const { made, seen, runner, end } = world([...Array<string>(50).fill('many'), 'one', 'other'])
  runner.wake()
  await turns(20)
  expect(made.map(({ job }) => job.accountId).toSorted()).toEqual(['many', 'one'])
  await end(made.find(({ job }) => job.accountId === 'many'))
  await end(made.find(({ job }) => job.accountId === 'one'))
  expect(made.slice(0, 4).map(({ job }) => job.accountId)).toContain('other')
  expect(seen.rows).toBeLessThanOrEqual(6)
  await runner.stop()
})

test('runs one attempt per job, and one query for many wakes', async () => {
  const { made, seen, runner } = world(['one'])
  for (let i = 0; i < 1_000; i++) runner.wake()
  await turns(20)
  expect([
    made.length,
    runner.start(new Held(made[0]?.job ?? { id: 0, accountId: '', attempts: 0, dueAt: 0 })),
  ]).toEqual([1, false])
  expect(seen.queries).toBeLessThan(10)
  await runner.stop()
})

test('a query that reads all due jobs ends the pass', async () => {
  const { made, seen, runner } = world(['one'], 2)
  runner.wake()
  await turns(20)
  expect([made.length, seen.queries]).toEqual([1, 1])
  await runner.stop()
})

test('a query that may lack due jobs is followed by another', async () => {
  const { made, runner } = world(['one', 'one'])
  runner.wake()
  await turns(20)
  expect(made.length).toBe(2)
  await runner.stop()
})

test('retries a failure with backoff, and stores no failure while stopping', async () => {
  const { clock, rows, made, runner } = world(['one'])
  runner.wake()
  await turns(20)
  const pauses: number[] = []
  for (let i = 0; i < 5; i++) {
    made.at(-1)?.ending.reject(new Error('not now'))
    await turns(20)
    const pause = (rows[0]?.dueAt ?? 0) - clock.now()
    pauses.push(pause)
    clock.advance(pause)
    await turns(20)
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 4_000, 4_000])
  expect([made.length, rows[0]?.attempts]).toEqual([6, 6])
  const before = rows[0]?.dueAt
  await runner.stop()
  expect(rows[0]?.dueAt).toBe(before)
  runner.wake()
  clock.advance(60_000)
  await turns(20)
  expect(made.length).toBe(6)
})

test.each(['begin', 'failed'] as const)('repeats a job whose %s could not be stored', async step => {
  const { clock, rows, made, runner, faults } = world(['one'])
  faults.add(step).add('makeDue')
  runner.wake()
  await turns(20)
  if (step === 'failed') made[0]?.ending.reject(new Error('not now'))
  for (let i = 0; i < 3; i++) {
    await turns(20)
    // The row still says that the attempt runs, so the job is not due.
    expect([rows[0]?.dueAt, made.length]).toEqual([null, 1])
    clock.advance(1_000)
  }
  faults.clear()
  await turns(20)
  clock.advance(1_000)
  await turns(20)
  expect([rows[0]?.attempts, made.length]).toEqual([2, 2])
  await runner.stop()
})

test('starts a job that arrived while full once an attempt ends', async () => {
  const { rows, made, runner, end, clock } = world(['a', 'b'])
  runner.wake()
  await turns(20)
  rows.push({ id: 9, accountId: 'c', attempts: 0, dueAt: clock.now() })
  runner.wake()
  await turns(20)
  expect(made.length).toBe(2)
  await end(made[0])
  expect(made.map(({ job }) => job.id)).toEqual([0, 1, 9])
  await runner.stop()
})
