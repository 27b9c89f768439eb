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

/** Gives a little, and half of the quota when the test says so. */
function slowUpload(seed: string) {
  const [begun, finished] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let given = 0
  const content = (async function* (): AsyncGenerator<Uint8Array> {
    yield pseudoRandom(1_000, `${seed} first`)
    begun.resolve()
    await finished.promise
    for (; given < 2.5 * MIB; given += MIB / 2) yield pseudoRandom(MIB / 2, `${seed} ${given}`)
  })()
  return { content, begun: begun.promise, finish: () => finished.resolve(), given: () => given }
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

  test.each(['before', 'during'])('bounds parallel uploads that began %s the backup', async when => {
    await withEngine(async (engine, account, backup) => {
      const uploads = ['a', 'b', 'c'].map(slowUpload)
      const begin = async () => {
        const outcomes = uploads.map(({ content }) => engine.pins.upload(content, { account }).catch(error => error))
        await Promise.all(uploads.map(({ begun }) => begun))
        return outcomes
      }
      const early = when === 'before' ? await begin() : null
      await duringBackup(engine, backup, async () => {
        const outcomes = early ?? (await begin())
        const ended: unknown[] = []
        for (const [i, { finish }] of uploads.entries()) {
          finish()
          ended.push(await outcomes[i])
        }
        const refused = { code: 'QUOTA_EXCEEDED' }
        expect(ended).toMatchObject([{ created: true }, refused, refused])
        const given = uploads.reduce((sum, upload) => sum + upload.given(), 0)
        expect(given).toBeLessThanOrEqual(PLAN.small.maxStorageBytes)
      })
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
