import { describe, expect, test } from 'vitest'
import { createEngine, type PinRecord } from '../../src/index.ts'
import { newDirectory } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withEngine } from '../support/test-engine.ts'

function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no error',
    (error: { code?: string }) => error.code ?? String(error),
  )
}

describe('pins of an embedder', () => {
  test('are read one at a time, by their owner only', async () => {
    await withEngine(async ({ engine, account, newAccount, clock }) => {
      const { pins } = engine
      const { record } = await pins.upload('one', { account, timelock: new Date(clock.now() + 1_000) })
      expect(record.expiresAt).toBe(clock.now() + 1_000)
      const { uploadId } = record
      expect(await pins.get({ account, uploadId })).toEqual(record)
      expect(await codeOf(pins.get({ account: await newAccount(), uploadId }))).toBe('NOT_FOUND')
      expect(await codeOf(pins.get({ account, uploadId: 'none' }))).toBe('NOT_FOUND')
      clock.advance(1_000)
      expect(await codeOf(pins.get({ account, uploadId }))).toBe('NOT_FOUND')
    })
  })

  test('are all listed exactly once while records are added and removed', async () => {
    await withEngine(async ({ engine, account, clock }) => {
      const { pins } = engine
      const made: PinRecord[] = []
      for (let index = 0; index < 520; index++) {
        clock.advance(1)
        made.push((await pins.upload(`${index}`, { account })).record)
      }
      const seen: string[] = []
      for await (const { uploadId } of pins.all({ account })) {
        if (seen.push(uploadId) === 10) {
          await pins.upload('new', { account })
          await pins.remove({ account, cid: made.at(-1)?.cid ?? '' })
        }
      }
      expect(seen).toEqual(made.map(({ uploadId }) => uploadId).toReversed())
      const [first] = made
      const ofOne: string[] = []
      for await (const { cid } of pins.all({ account, cid: first?.cid })) ofOne.push(cid)
      expect(ofOne).toEqual([first?.cid])
      const entries = Array.from({ length: 120 }, (_, index) => ({
        ...{ kind: 'file' as const, path: `${index}`.padStart(3, '0'), content: 'x' },
      }))
      const { cid } = (await pins.uploadDirectory(entries, { account })).record
      const files: Array<string | null> = []
      for await (const { path } of pins.all({ account, parentCid: cid })) files.push(path)
      expect(files).toEqual(entries.map(({ path }) => path))
    })
  })

  test('belong to the only account if a call names none', async () => {
    await withTempDir(async dataDir => {
      await using engine = await createEngine({ dataDir: newDirectory(dataDir) })
      const { record } = await engine.pins.upload('mine')
      const { account, created } = await engine.accounts.ensureOwner()
      expect([record.accountId, created]).toEqual([account.id, false])
      expect((await engine.pins.pin(record.cid, { name: 'twice' })).record).toMatchObject({ accountId: account.id })
      expect((await engine.pins.status(record.cid))[0]?.record.cid).toBe(record.cid)
      expect((await engine.pins.dag(record.cid)).record.cid).toBe(record.cid)
      expect(await codeOf(engine.pins.remove(record.cid, { cluster: 'cl1-eu' }))).toBe('PIN_NOT_FOUND')
      expect((await engine.pins.remove(record.cid)).length).toBeGreaterThan(0)
    })
  })

  test('belong to one owner if the first calls are concurrent', async () => {
    await withTempDir(async dataDir => {
      await using engine = await createEngine({ dataDir: newDirectory(dataDir) })
      const made = await Promise.all(['a', 'b', 'c'].map(text => engine.pins.upload(text)))
      expect(new Set(made.map(({ record }) => record.accountId)).size).toBe(1)
      expect(await engine.accounts.list()).toHaveLength(1)
    })
  })

  test('are never those of the only account if a call passes undefined', async () => {
    await withEngine(async ({ engine: { pins }, account }) => {
      await pins.upload('of a customer', { account })
      expect((await pins.list()).total).toBe(1)
      const refused = { code: 'VALIDATION', message: 'account is undefined: pass an id, or omit the field' }
      await expect(pins.list({ account: undefined })).rejects.toMatchObject(refused)
      await expect(pins.usage(undefined)).rejects.toMatchObject(refused)
      await expect(pins.pin('bafkqaaa', { account: undefined })).rejects.toMatchObject(refused)
    })
  })

  test('need an account if there are several, except with singleUser', async () => {
    await withTempDir(async dataDir => {
      const many = await createEngine({ dataDir: newDirectory(dataDir) })
      for (const name of ['one', 'two']) await many.accounts.create({ email: `${name}@example.org`, plan: 'free' })
      const calls = [many.pins.upload('x'), many.pins.list(), many.pins.usage(), many.pins.all(), many.pins.remove('x')]
      for (const call of calls) {
        const settled = 'then' in call ? call : call[Symbol.asyncIterator]().next()
        await expect(settled).rejects.toMatchObject({
          code: 'VALIDATION',
          message: 'account must be the id of an account, because the engine has 2 accounts',
        })
      }
      await many.stop()
      const engine = await createEngine({ dataDir: newDirectory(dataDir), singleUser: true })
      const { record } = await engine.pins.upload('mine', { timelock: new Date('2099-01-01') })
      const { account } = await engine.accounts.ensureOwner()
      expect(record.accountId).toBe(account.id)
      expect((await engine.pins.list()).items.map(({ cid }) => cid)).toEqual([record.cid])
      expect((await engine.pins.get({ uploadId: record.uploadId })).cid).toBe(record.cid)
      expect((await engine.pins.usage()).pins).toBe(1)
      expect(await codeOf(engine.pins.upload('x', { timelock: new Date('nonsense') }))).toBe('INVALID_TIMELOCK')
      expect(await engine.pins.remove({ cid: record.cid })).toHaveLength(1)
      await engine.stop()
    })
  })
})

describe('events', () => {
  test('reach a listener once, until a signal, or until it is removed', async () => {
    await withEngine(async ({ engine, account }) => {
      const { events, pins } = engine
      const heard: string[] = []
      const abort = new AbortController()
      events.on('pin:created', ({ record }) => heard.push(`signal ${record.name}`), { signal: abort.signal })
      const off = events.on('pin:created', ({ record }) => heard.push(`off ${record.name}`))
      events.on('pin:created', () => heard.push('never'), { signal: AbortSignal.abort() })
      const next = events.once('pin:created')
      const ended = codeOf(events.once('pin:removed', { signal: abort.signal }))
      await pins.upload('1', { account, name: 'a' })
      abort.abort()
      off()
      await pins.upload('2', { account, name: 'b' })
      expect((await next).record.name).toBe('a')
      expect(await ended).toBe('ABORTED')
      expect(await codeOf(events.once('pin:removed', { signal: abort.signal }))).toBe('ABORTED')
      expect(heard).toEqual(['signal a', 'off a'])
    })
  })
})
