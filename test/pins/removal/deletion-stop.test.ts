import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createTestEngine, type TestEngine } from '../../../src/testing/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { duringBackup } from '../../torture/full-disk.ts'

const MIB = 1024 ** 2
const SIZE = 2 * MIB
const PLAN = { small: { timelock: true, clusters: '*', maxStorageBytes: 5 * MIB } } as const

function withEngine(run: (engine: TestEngine, account: string, backup: string) => Promise<void>): Promise<void> {
  return withTempDir(async dir => {
    await using engine = await createTestEngine({ plans: PLAN, bulk: { undoSeconds: 600 } })
    const { id } = await engine.accounts.create({ email: 'one@example.org', plan: 'small' })
    await run(engine, id, join(dir, 'backup'))
  })
}

/** Breaks off after two chunks and a half. */
async function* broken(seed: string): AsyncGenerator<Uint8Array> {
  yield pseudoRandom(2.5 * MIB, seed)
  throw new Error('the client is gone')
}

describe('the quota during a backup', () => {
  test('counts removed content and kept bytes until the backup ends', async () => {
    await withEngine(async (engine, account, backup) => {
      const upload = (seed: string) => engine.pins.upload(pseudoRandom(SIZE, seed), { account })
      const { record } = await upload('kept')
      const { id } = await engine.jobs.start({ account, action: 'delete', ids: [record.uploadId] })
      await engine.jobs.untilEnded(id, { account })
      const early = await upload('before the backup')
      await engine.pins.remove(early.record.cid, { account })
      await duringBackup(engine, backup, async () => {
        const { record: second } = await upload('a')
        await engine.pins.remove(second.cid, { account })
        const refused = { code: 'QUOTA_EXCEEDED', message: expect.stringContaining(' 4195328 bytes that were deleted') }
        await expect(upload('b')).rejects.toMatchObject(refused)
      })
      expect((await upload('b')).created).toBe(true)
    })
  })

  test('counts uploads that broke off', async () => {
    await withEngine(async (engine, account, backup) => {
      const upload = (content: Buffer | AsyncIterable<Uint8Array>) => engine.pins.upload(content, { account })
      await expect(upload(broken('a'))).rejects.toThrow('the client is gone')
      await duringBackup(engine, backup, async () => {
        await expect(upload(broken('b'))).rejects.toThrow('the client is gone')
        await expect(upload(pseudoRandom(2 * SIZE, 'c'))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
      })
      expect((await upload(pseudoRandom(2 * SIZE, 'c'))).created).toBe(true)
    })
  })

  test('lets an account undo a removal, which needs no room', async () => {
    await withEngine(async (engine, account, backup) => {
      const { record } = await engine.pins.upload(pseudoRandom(2 * SIZE, 'a'), { account })
      await duringBackup(engine, backup, async () => {
        const { id } = await engine.jobs.start({ account, action: 'delete', ids: [record.uploadId] })
        await engine.jobs.untilEnded(id, { account })
        await engine.jobs.undo(id, { account })
        expect(await engine.jobs.untilEnded(id, { account })).toMatchObject({ restored: 1 })
      })
    })
  })
})
