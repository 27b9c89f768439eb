import { basename } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { replaceFile } from '../../src/disk/replace-file.ts'
import { publicError } from '../../src/http/error-response.ts'
import { SCOPES } from '../../src/index.ts'
import { LogSync } from '../../src/storage/log-sync.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { fault, turns } from '../support/content-parts.ts'
import { RecordingFiles } from '../support/recording-files.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** Makes every later sync of the log fail. */
function failSyncs(code: string): void {
  vi.spyOn(LogSync.prototype, 'run').mockRejectedValue(fault(code))
}

/** An engine with content of one account, and another account. */
type Written = TestEngine & { other: string; cid: string }

/** Returns the error code for a client. */
async function toldOf(write: Promise<unknown>): Promise<string> {
  return write.then(
    () => 'done',
    (error: unknown) => publicError(error).code,
  )
}

describe('a write after a failed sync has the code OUTCOME_UNKNOWN', () => {
  test.each(['EIO', 'ENOSPC', 'EMFILE'])('with %s: an upload, found by the next start', async code => {
    for (const size of [100, 600_000]) {
      await withEngine(async test => {
        const { account } = test
        const upload = (seed: string) => test.engine.pins.upload(pseudoRandom(size, seed), { account })
        const before = (await upload('before')).record.cid
        failSyncs(code)
        expect(await toldOf(upload('first'))).toBe('OUTCOME_UNKNOWN')
        expect(await toldOf(upload('later'))).toBe('UNAVAILABLE')
        vi.restoreAllMocks()
        const { items } = await (await test.restart()).pins.list({ account })
        expect(items.map(({ cid }) => cid)).toContain(before)
        expect(items).toHaveLength(2)
      })
    }
  })

  test.each<[string, (test: Written) => Promise<unknown>]>([
    ['a pin by CID', ({ engine, other, cid }) => engine.pins.pin({ account: other, cid })],
    [
      'a CAR',
      async ({ engine, other, cid }) =>
        engine.pins.importCar(await engine.content.exportCar({ cid }), { account: other }),
    ],
    ['a removal', ({ engine, account, cid }) => engine.pins.remove({ account, cid })],
    ['an account', ({ newAccount }) => newAccount()],
    ['a key', ({ engine, account }) => engine.keys.create(account, { name: 'key', scopes: SCOPES })],
  ])('%s', async (_, write) => {
    await withEngine(async test => {
      const { engine, account } = test
      const other = await test.newAccount()
      const { cid } = (await engine.pins.upload(pseudoRandom(600_000, 'old'), { account })).record
      failSyncs('EIO')
      for (const told of ['OUTCOME_UNKNOWN', 'UNAVAILABLE']) {
        expect(await toldOf(write({ ...test, other, cid }))).toBe(told)
      }
    })
  })

  test('a removal whose second part is refused', async () => {
    await withEngine(async test => {
      const { account, clock } = test
      const content = pseudoRandom(100, 'often')
      let cid = ''
      for (let i = 0; i < 60; i++) {
        const timelock = new Date(clock.now() + (i + 1) * 86_400_000).toISOString()
        cid = (await test.engine.pins.upload(content, { account, timelock })).record.cid
      }
      const syncs: PromiseWithResolvers<void>[] = []
      vi.spyOn(LogSync.prototype, 'run').mockImplementation(() => {
        syncs.push(Promise.withResolvers())
        return (syncs.at(-1) as PromiseWithResolvers<void>).promise
      })
      const removed = toldOf(test.engine.pins.remove({ account, cid }))
      while (syncs.length < 1) await turns(1)
      const other = toldOf(test.newAccount())
      while (syncs.length < 2) await turns(1)
      syncs[0]?.resolve()
      await turns(5)
      syncs[1]?.reject(fault('EIO'))
      expect([await removed, await other]).toEqual(['OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN'])
      vi.restoreAllMocks()
      expect((await (await test.restart()).pins.list({ account })).items).toEqual([])
    })
  })
})

describe('a replaced file', () => {
  test('is OUTCOME_UNKNOWN after a failed directory sync, unchanged after other failures', async () => {
    await withTempDir(async dir => {
      const files = new RecordingFiles()
      const path = `${dir}/kept`
      await replaceFile(path, 'old', { files })
      for (const failing of ['create', 'write', 'datasync', 'rename', 'syncDirectory'] as const) {
        files.fail = operation => (operation === failing ? 'EIO' : undefined)
        const code = failing === 'syncDirectory' ? 'OUTCOME_UNKNOWN' : 'EIO'
        await expect(replaceFile(path, 'new', { files })).rejects.toMatchObject({ code })
        const text = Buffer.from(await files.read(path, 10).catch(() => '')).toString()
        if (failing !== 'syncDirectory') expect(text).toBe('old')
      }
    })
  })

  test('a takedown with a failed directory sync is completed by a repeat', async () => {
    const files = new RecordingFiles()
    await withEngine(
      async ({ engine, account, dataDir }) => {
        const { cid } = (await engine.pins.upload(pseudoRandom(100, 'bad'), { account })).record
        const add = () => engine.takedowns.add({ cid, reason: 'law' })
        files.fail = (operation, path) =>
          operation === 'syncDirectory' && basename(path) === basename(dataDir) ? 'EIO' : undefined
        for (let i = 0; i < 2; i++) expect(await toldOf(add())).toBe('OUTCOME_UNKNOWN')
        files.fail = () => undefined
        expect(await toldOf(add())).toBe('done')
      },
      { fileSystem: files },
    )
  })
})
