import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { base32upper } from 'multiformats/bases/base32'
import { afterEach, describe, expect, test } from 'vitest'
import { totpCode, totpStep } from '../../src/access/sign-in/totp.ts'
import { compactDatabase, createEngine, type Engine, rehearseUpgrade } from '../../src/index.ts'
import { migrations } from '../../src/storage/migrations.ts'
import { callApi } from '../support/api-call.ts'
import { killAtEveryStep } from '../support/killed-migration.ts'
import { killStarts } from '../support/killed-starts.ts'
import { needs } from '../support/needs.ts'
import { hasSource, numberedLines, OLD_SOURCES, unpackSource } from '../support/old-source.ts'
import { viaGateway } from '../support/read-back.ts'
import { type Env, ServerProcess } from '../support/server-process.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { unpack } from '../support/unpack.ts'
import old from './fixtures/data-0.1.0.json' with { type: 'json' }

const ARCHIVE = join(import.meta.dirname, 'fixtures', 'data-0.1.0.tar.gz')
const SOURCE = OLD_SOURCES['0.1.0']
/** Version of the schema of 0.1.0. */
const SCHEMA = 1
const KEPT = `holdfast.db.schema-${SCHEMA}`

type OldRecord = (typeof old.records)[number]
const files = old.records.filter(record => record.type === 'file')

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
    expect(bytes.equals(numberedLines(seed ?? '', length ?? 0))).toBe(true)
  }
}

function toldOf({ uploadId, cid, name, expiresAt }: OldRecord) {
  return { uploadId, cid, called: name, expiresAt: expiresAt ?? null }
}

function byId(a: { uploadId: string }, b: { uploadId: string }): number {
  return a.uploadId < b.uploadId ? -1 : 1
}

afterEach(() => ServerProcess.killAll())

/** Runs with an unpacked directory that no engine has opened. */
function withUnopened(run: (dataDir: string, directory: string) => Promise<void>): Promise<void> {
  return withTempDir(async directory => {
    await unpack(ARCHIVE, directory)
    await run(join(directory, 'data'), directory)
  })
}

async function killFirstStarts(dataDir: string): Promise<void> {
  const start = (env: Env, nodeArgs: readonly string[]) => ServerProcess.start(dataDir, [], env, undefined, nodeArgs)
  expect(await killStarts(start, 7)).toBeGreaterThan(5)
}

describe('a data directory of 0.1.0', () => {
  test('is rehearsed without a change', () =>
    withUnopened(async dataDir => {
      const file = join(dataDir, 'holdfast.db')
      const before = readFileSync(file)
      const { neededBytes, ...told } = rehearseUpgrade(dataDir)
      expect(told).toMatchObject({ schema: SCHEMA, newSchema: migrations.length })
      expect(neededBytes).toBeGreaterThanOrEqual(statSync(file).size)
      expect(readFileSync(file).equals(before)).toBe(true)
    }))

  test('is not rehearsed over a file of somebody else', () =>
    withUnopened(async (dataDir, directory) => {
      const file = join(directory, 'upgrade-rehearsal.db')
      writeFileSync(file, 'not of a rehearsal')
      const taken = { code: 'CONFLICT', message: expect.stringContaining(file) }
      expect(() => rehearseUpgrade(dataDir, directory)).toThrow(expect.objectContaining(taken))
      expect(readFileSync(file, 'utf8')).toBe('not of a rehearsal')
    }))

  test.each([
    [
      'an upgrade that is killed at every step',
      async (dataDir: string) => killAtEveryStep(join(dataDir, 'holdfast.db'), SCHEMA),
    ],
    ['first starts that are killed at their steps', killFirstStarts],
  ])('keeps everything over %s', { timeout: 600_000 }, (_, upgrade) =>
    withUnopened(async dataDir => {
      await upgrade(dataDir)
      const engine = await createEngine({ dataDir })
      try {
        await expectAll(engine)
        const mine = await callApi(engine, 'GET', '/users/me', { authorization: `Bearer ${old.key}` })
        expect(mine).toMatchObject({
          status: 200,
          json: { usage: { pins: old.usage.ada.pins }, twoFactorEnabled: true },
        })
        expect(await engine.verify()).toMatchObject({ damaged: [] })
        expect(await engine.reconcile({ dryRun: true })).toMatchObject({ findings: [] })
      } finally {
        await engine.stop()
      }
    }),
  )

  test(
    'returns to 0.1.0 by the kept copy, without later uploads',
    { ...needs(hasSource(SOURCE), 'the history does not reach back to 0.1.0'), timeout: 120_000 },
    () =>
      withUnopened(async (dataDir, directory) => {
        const engine = await createEngine({ dataDir })
        await engine.pins.upload(Buffer.from('after the upgrade'), { account: old.accounts.ada })
        await engine.stop()
        const source = join(directory, 'holdfast-0.1.0')
        unpackSource(SOURCE, source)
        const main = join(source, 'adapters', 'node-http', 'main.ts')
        // The peer-to-peer packages of today are not those of 0.1.0.
        const config = join(directory, 'config.json')
        writeFileSync(config, JSON.stringify({ network: { enabled: false } }))
        const startOld = () => ServerProcess.start(dataDir, ['--config', config], {}, 60_000, [], undefined, main)
        await expect(startOld()).rejects.toThrow(/newer Holdfast/)
        renameSync(join(dataDir, KEPT), join(dataDir, 'holdfast.db'))
        const back = await startOld()
        const headers = { authorization: `Bearer ${old.key}` }
        const listed = await fetch(`${back.api}/users/me/uploads?limit=100`, { headers })
        const mine = old.records.filter(({ account }) => account === 'ada')
        expect(await listed.json()).toMatchObject({ total: mine.length })
        for (const { cid, seed, length } of files) {
          const bytes = Buffer.from(await (await fetch(`${back.url}/ipfs/${cid}`)).arrayBuffer())
          expect(bytes.equals(numberedLines(seed ?? '', length ?? 0))).toBe(true)
        }
        expect(await back.stop()).toBe(0)
      }),
  )

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
  })
})
