import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTestEngine, settled, type TestEngine } from '../../../src/testing/index.ts'

async function filled(engine: TestEngine, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await engine.pins.upload(`content ${i}`, { name: `file ${i}` })
  engine.clock.advance(1)
}

function allOf({ clock }: TestEngine, expected: number) {
  return { createdBefore: new Date(clock.now()), expected }
}

test('jobs of an engine delete, restore and edit many records', async () => {
  await using engine = await createTestEngine()
  await filled(engine, 120)
  const before = await engine.pins.list({ limit: 100 })
  const other = engine.jobs.start({ action: 'delete', filter: allOf(engine, 119) })
  await expect(other).rejects.toMatchObject({ code: 'CONFLICT', details: { selected: 120 } })
  const started = await engine.jobs.start({ action: 'delete', filter: allOf(engine, 120) })
  expect(started).toMatchObject({ state: 'running', total: 120, done: 0 })
  const progress: number[] = []
  const ended = await engine.jobs.untilEnded(started.id, { onProgress: ({ done }) => progress.push(done) })
  expect(ended).toMatchObject({ state: 'done', done: 120, failed: 0, undoUntil: engine.clock.now() + 600_000 })
  expect(progress.at(-1)).toBeGreaterThan(0)
  expect((await engine.pins.list()).total).toBe(0)
  await engine.jobs.undo(started.id)
  expect(await engine.jobs.untilEnded(started.id)).toMatchObject({ state: 'undone', restored: 120, undoUntil: null })
  expect(await engine.pins.list({ limit: 100 })).toEqual(before)
  const timelock = new Date(engine.clock.now() + 60_000)
  const ids = before.items.slice(0, 2).map(({ uploadId }) => uploadId)
  const { id } = await engine.jobs.start({ action: 'timelock', ids, timelock })
  expect(await engine.jobs.untilEnded(id)).toMatchObject({ state: 'done', done: 2 })
  expect((await engine.pins.list({ hasExpiration: true })).total).toBe(2)
  expect((await engine.jobs.list()).map(job => job.id)).toEqual([id, started.id])
})

test('listeners learn of each record that a job removes, restores or expires', async () => {
  await using engine = await createTestEngine()
  await filled(engine, 3)
  const told: string[] = []
  engine.events.on('pin:removed', ({ reason, record }) => told.push(`${reason} ${record.name}`))
  engine.events.on('pin:created', ({ record }) => told.push(`created ${record.name}`))
  const isTold = async (what: string) => {
    await settled(engine)
    expect(told.toSorted()).toEqual([0, 1, 2].map(i => `${what} file ${i}`))
    told.length = 0
  }
  const ids = (await engine.pins.list()).items.map(({ uploadId }) => uploadId)
  const { id } = await engine.jobs.start({ action: 'delete', ids })
  await engine.jobs.untilEnded(id)
  await isTold('deleted')
  await engine.jobs.undo(id)
  await engine.jobs.untilEnded(id)
  await isTold('created')
  const timelock = new Date(engine.clock.now() + 10)
  await engine.jobs.untilEnded((await engine.jobs.start({ action: 'timelock', ids, timelock })).id)
  engine.clock.advance(10)
  await isTold('expired')
})

test('a job counts all failures, and has the first 100', async () => {
  await using engine = await createTestEngine()
  const ids = Array.from({ length: 120 }, (_, i) => `none${i}`)
  const { id } = await engine.jobs.start({ action: 'delete', ids })
  const { failed, failures } = await engine.jobs.untilEnded(id)
  expect([failed, failures.length, failures[0]]).toEqual([120, 100, { uploadId: 'none0', code: 'NOT_FOUND' }])
})

test('a job without a clear selection is refused', async () => {
  await using engine = await createTestEngine()
  const createdBefore = new Date(engine.clock.now())
  const wrong = [
    [{ action: 'purge', ids: ['a'] }, 'action must be'],
    [{}, 'exactly one of ids and filter'],
    [{ ids: ['a'], filter: { createdBefore, expected: 0 } }, 'exactly one of ids and filter'],
    [{ ids: [] }, 'ids must have 1 to 1000 ids'],
    [{ ids: Array.from({ length: 1_001 }, (_, i) => `id${i}`) }, 'ids must have 1 to 1000 ids'],
    [{ filter: { createdBefore } }, 'filter.expected must be'],
    [{ filter: { createdBefore: 'yesterday', expected: 0 } }, 'filter.createdBefore must be'],
  ] as const
  for (const [request, message] of wrong) {
    const started = engine.jobs.start({ action: 'delete', ...request } as never)
    await expect(started).rejects.toMatchObject({ code: 'VALIDATION', message: expect.stringContaining(message) })
  }
  expect(await engine.jobs.list()).toEqual([])
})

test('jobs belong to their account', async () => {
  await using engine = await createTestEngine()
  const two = await engine.accounts.create({ email: 'two@example.org', plan: 'free' })
  const one = await engine.accounts.create({ email: 'one@example.org', plan: 'free' })
  const { record } = await engine.pins.upload('content', { account: one.id })
  const job = await engine.jobs.start({ account: two.id, action: 'delete', ids: [record.uploadId] })
  expect(await engine.jobs.untilEnded(job.id, { account: two.id })).toMatchObject({ done: 0, failed: 1 })
  expect((await engine.pins.list({ account: one.id })).total).toBe(1)
  await expect(engine.jobs.get(job.id, { account: one.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(engine.jobs.untilEnded(job.id, { account: one.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(engine.jobs.list()).rejects.toMatchObject({ code: 'VALIDATION' })
})

test('a wait for a job ends with its signal or engine', async () => {
  await using engine = await createTestEngine({ bulk: { undoSeconds: 60 } })
  await filled(engine, 3)
  const job = await engine.jobs.start({ action: 'delete', filter: allOf(engine, 3) })
  const signal = AbortSignal.abort(new Error('the caller left'))
  await expect(engine.jobs.untilEnded(job.id, { signal })).rejects.toThrow()
  await engine.jobs.untilEnded(job.id)
  const timers = engine.clock.waiting
  await engine.jobs.untilEnded(job.id)
  expect(engine.clock.waiting).toBe(timers)
  await engine.stop()
  await wait(0)
  await expect(engine.jobs.get(job.id)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})
