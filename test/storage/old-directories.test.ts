import { join } from 'node:path'
import { base32upper } from 'multiformats/bases/base32'
import { describe, expect, test } from 'vitest'
import { totpCode, totpStep } from '../../src/access/sign-in/totp.ts'
import { compactDatabase, createEngine, type Engine } from '../../src/index.ts'
import { callApi } from '../support/api-call.ts'
import { viaGateway } from '../support/read-back.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { unpack } from '../support/unpack.ts'
import old from './fixtures/data-0.1.0.json' with { type: 'json' }

const ARCHIVE = join(import.meta.dirname, 'fixtures', 'data-0.1.0.tar.gz')

type OldRecord = (typeof old.records)[number]
const files = old.records.filter(record => record.type === 'file')

/** Seeds of the stored files. */
function contentOf(seed: string, length: number): Buffer {
  let text = ''
  for (let line = 0; text.length < length; line++) text += `${seed} ${line}\n`
  return Buffer.from(text.slice(0, length))
}

/** Runs with an engine of this version on a data directory of 0.1.0. */
function withOldDirectory(run: (engine: Engine, restart: () => Promise<Engine>) => Promise<void>): Promise<void> {
  return withTempDir(async dir => {
    await unpack(ARCHIVE, dir)
    const open = (): Promise<Engine> => createEngine({ dataDir: join(dir, 'data') })
    let engine = await open()
    const restart = async (): Promise<Engine> => {
      await engine.stop()
      engine = await open()
      return engine
    }
    try {
      await run(engine, restart)
    } finally {
      await engine.stop()
    }
  })
}

async function expectAll(engine: Engine): Promise<void> {
  for (const [name, account] of Object.entries(old.accounts)) {
    const expected = old.records.filter(record => record.account === name)
    const { items, total } = await engine.pins.list({ account })
    expect(total).toBe(expected.length)
    const told = items.map(({ uploadId, cid, name: called, expiresAt }) => ({ uploadId, cid, called, expiresAt }))
    expect(told.sort(byId)).toEqual(expected.map(toldOf).sort(byId))
  }
  for (const { cid, seed, length } of files) {
    const { status, bytes } = await viaGateway(engine, `/ipfs/${cid}`)
    expect(status).toBe(200)
    expect(bytes.equals(contentOf(seed ?? '', length ?? 0))).toBe(true)
  }
}

function toldOf({ uploadId, cid, name, expiresAt }: OldRecord) {
  return { uploadId, cid, called: name, expiresAt: expiresAt ?? null }
}

function byId(a: { uploadId: string }, b: { uploadId: string }): number {
  return a.uploadId < b.uploadId ? -1 : 1
}

describe('a data directory of 0.1.0', () => {
  test('keeps records, content and directories over two starts', async () => {
    await withOldDirectory(async (first, restart) => {
      await expectAll(first)
      const engine = await restart()
      await expectAll(engine)
      const docs = old.records.find(record => record.type === 'directory')
      const listed = await engine.pins.dag({ account: old.accounts.ada, cid: docs?.cid ?? '' })
      expect(listed.totalFiles).toBe(docs?.files)
      const { path } = listed.files[7] ?? { path: '' }
      const { bytes } = await viaGateway(engine, `/ipfs/${docs?.cid}/${path}`)
      expect(bytes.toString()).toMatch(/^file \d+ 0\n/)
      expect(await engine.verify()).toMatchObject({ damaged: [] })
    })
  })

  test('finds its records by name, type and time', async () => {
    await withOldDirectory(async engine => {
      for (const [name, account] of Object.entries(old.accounts)) {
        const named = old.records.filter(record => record.account === name && record.name !== null)
        for (const { name: called } of named) {
          const { items } = await engine.pins.list({ account, name: (called ?? '').toUpperCase(), match: 'iexact' })
          expect(items.map(item => item.name)).toContain(called)
        }
        const { items, total } = await engine.pins.list({ account, sort: 'oldest', before: new Date() })
        expect(total).toBe(old.records.filter(record => record.account === name).length)
        const times = items.map(({ createdAt }) => createdAt)
        expect(times).toEqual(times.toSorted((a, b) => a - b))
        const directories = await engine.pins.list({ account, type: 'directory' })
        expect(directories.total).toBe(
          old.records.filter(one => one.account === name && one.type === 'directory').length,
        )
      }
    })
  })

  test('keeps keys, passwords and second factors', async () => {
    await withOldDirectory(async engine => {
      const mine = await callApi(engine, 'GET', '/users/me', { authorization: `Bearer ${old.key}` })
      expect(mine).toMatchObject({ status: 200, json: { email: 'ada@example.org' } })
      const headers = { 'content-type': 'application/json' }
      const signIn = { email: 'ada@example.org', password: old.password }
      const login = (body: object) =>
        callApi(engine, 'POST', '/auth/login', { ...headers, body: JSON.stringify({ ...signIn, ...body }) })
      const { json } = await login({})
      expect(json).toMatchObject({ requires2FA: true })
      const code = totpCode(base32upper.baseDecode(old.totpSecret), totpStep(Date.now()))
      const body = JSON.stringify({ temporaryToken: json.temporaryToken, code })
      expect(await callApi(engine, 'POST', '/auth/2fa/verify-login', { ...headers, body })).toMatchObject({
        status: 200,
      })
    })
  })

  test('resumes its fetches, and frees deleted content', async () => {
    await withOldDirectory(async engine => {
      const waiting = old.records.find(record => record.status === 'queued')
      const [progress] = await engine.pins.status({ account: old.accounts.ada, cid: waiting?.cid ?? '' })
      expect(['queued', 'pinning']).toContain(progress?.record.status)
      await engine.collect({ graceSeconds: 0 })
      expect((await viaGateway(engine, `/ipfs/${old.gone}`)).status).toBe(404)
      await expectAll(engine)
      for (const { account, cid } of old.records) {
        await engine.pins.remove({ account: old.accounts[account as 'ada' | 'bob'], cid })
      }
      await engine.collect({ graceSeconds: 0 })
      expect((await engine.stats()).blocks.durable.count).toBe(0)
    })
  })

  test('returns free pages after compaction, and keeps everything else', async () => {
    await withTempDir(async dir => {
      await unpack(ARCHIVE, dir)
      const dataDir = join(dir, 'data')
      const pages = 'SELECT auto_vacuum AS kind FROM pragma_auto_vacuum()'
      const kindOf = () => withDatabase(dataDir, db => db.prepare<[], { kind: number }>(pages).get()?.kind)
      await createEngine({ dataDir }).then(engine => engine.stop())
      expect(kindOf()).toBe(0)
      const { before, after } = await compactDatabase(dataDir)
      // The page map takes one page, and rows that no longer share a page take another.
      expect(after).toBeLessThanOrEqual(before + 2 * 4_096)
      expect(kindOf()).toBe(2)
      const engine = await createEngine({ dataDir })
      try {
        await expectAll(engine)
        await expect(compactDatabase(dataDir)).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' })
      } finally {
        await engine.stop()
      }
    })
  }, 20_000)
})
