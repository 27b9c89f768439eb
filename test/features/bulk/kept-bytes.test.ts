import { describe, expect, test } from 'vitest'
import type { BulkJob } from '../../../src/features/bulk/bulk-service.ts'
import { createTestEngine, type TestEngine } from '../../../src/testing/index.ts'

const KIB = 1_024
const QUOTA = 100 * KIB
const PLAN = { small: { timelock: true, clusters: '*', maxStorageBytes: QUOTA } } as const

interface Uploaded {
  uploadId: string
  cid: string
}

function open() {
  return createTestEngine({ plans: PLAN, bulk: { undoSeconds: 600 } })
}

async function accountOf(engine: TestEngine, email: string): Promise<string> {
  return (await engine.accounts.create({ email, plan: 'small' })).id
}

async function upload(engine: TestEngine, account: string, text: string, size: number): Promise<Uploaded> {
  const { record } = await engine.pins.upload(Buffer.alloc(size, text), { account, name: text })
  return record
}

async function remove(engine: TestEngine, account: string, ids: readonly string[]): Promise<BulkJob> {
  const { id } = await engine.jobs.start({ account, action: 'delete', ids })
  return engine.jobs.untilEnded(id, { account })
}

async function keptBytes(engine: TestEngine, account: string): Promise<number> {
  return (await engine.pins.usage(account)).keptBytes
}

describe('kept bytes', () => {
  test('count each content once that only removed records name', async () => {
    await using engine = await open()
    const [one, two] = [await accountOf(engine, 'one@example.org'), await accountOf(engine, 'two@example.org')]
    const size = 20 * KIB
    const a = await upload(engine, one, 'a', size)
    const again = await upload(engine, one, 'a', size)
    const named = await engine.pins.upload(Buffer.alloc(size, 'a'), { account: one, name: 'other' })
    const b = await upload(engine, one, 'b', size)
    await upload(engine, two, 'b', size)
    expect(again.uploadId).toBe(a.uploadId)
    await remove(engine, one, [a.uploadId])
    expect(await keptBytes(engine, one)).toBe(0)
    await engine.pins.remove(named.record.cid, { account: one })
    expect(await keptBytes(engine, one)).toBe(size)
    await remove(engine, one, [b.uploadId])
    expect([await keptBytes(engine, one), await keptBytes(engine, two)]).toEqual([2 * size, 0])
    expect((await engine.stats()).keptBytes).toBe(2 * size)
    await upload(engine, one, 'a', size)
    expect(await engine.pins.usage(one)).toEqual({ pins: 1, storedBytes: size, keptBytes: size })
  })

  test('stay below the quota, because older undo periods end early', async () => {
    await using engine = await open()
    const account = await accountOf(engine, 'one@example.org')
    const jobs: BulkJob[] = []
    for (const text of ['a', 'b', 'c']) {
      const ended = engine.events.once('undo:ended')
      const { uploadId } = await upload(engine, account, text, 60 * KIB)
      jobs.push(await remove(engine, account, [uploadId]))
      if (text === 'a') continue
      const oldest = jobs.at(-2)
      expect(await ended).toEqual({ account, job: oldest?.id, reason: 'quota' })
      const told = await engine.jobs.get(oldest?.id ?? '', { account })
      expect(told).toMatchObject({ state: 'done', undoUntil: null, undoEnded: 'quota' })
      await expect.poll(() => keptBytes(engine, account), { timeout: 60_000 }).toBeLessThanOrEqual(QUOTA)
    }
    const [first, , last] = jobs
    await expect(engine.jobs.undo(first?.id ?? '', { account })).rejects.toMatchObject({ code: 'CONFLICT' })
    await engine.jobs.undo(last?.id ?? '', { account })
    const undone = await engine.jobs.untilEnded(last?.id ?? '', { account })
    expect(undone).toMatchObject({ restored: 1, undoEnded: null })
  })
})
