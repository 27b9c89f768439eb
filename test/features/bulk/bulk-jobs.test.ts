import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTestEngine, type TestEngine } from '../../../src/testing/index.ts'

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
  const started = await engine.jobs.start({ action: 'delete', filter: allOf(engine, 120) })
  expect(started).toMatchObject({ state: 'running', total: 120, done: 0 })
  const progress: number[] = []
  const ended = await engine.jobs.untilEnded(started.id, { onProgress: ({ done }) => progress.push(done) })
  expect(ended).toMatchObject({ state: 'done', done: 120, failed: 0, undoUntil: engine.clock.now() + 600_000 })
  expect(progress.at(-1)).toBeGreaterThan(0)
  expect((await engine.pins.list()).total).toBe(0)
  await engine.jobs.undo(started.id)
  expect(await engine.jobs.untilEnded(started.id)).toMatchObject({ state: 'undone', restored: 120 })
  expect(await engine.pins.list({ limit: 100 })).toEqual(before)
  const timelock = new Date(engine.clock.now() + 60_000)
  const ids = before.items.slice(0, 2).map(({ uploadId }) => uploadId)
  const { id } = await engine.jobs.start({ action: 'timelock', ids, timelock })
  expect(await engine.jobs.untilEnded(id)).toMatchObject({ state: 'done', done: 2 })
  expect((await engine.pins.list({ hasExpiration: true })).total).toBe(2)
  expect((await engine.jobs.list()).map(job => job.id)).toEqual([id, started.id])
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
