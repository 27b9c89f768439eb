import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrate } from '../../src/catalogue/postgres/migrate.ts'
import { Postgres } from '../../src/catalogue/postgres/postgres.ts'
import { migrations } from '../../src/catalogue/postgres/schema.ts'
import { createEngine, type Engine, openAccounts } from '../../src/index.ts'
import { callApi } from '../support/api-call.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../support/postgres-server.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withEngine } from '../support/test-engine.ts'

describe('an engine with its catalogue in PostgreSQL', needsPostgres, () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.stop())

  const bytes = (size: number, seed: number): Uint8Array => {
    const block = createHash('sha256').update(String(seed)).digest()
    return Buffer.alloc(size, block)
  }

  test('takes uploads, lists and finds them, keeps them over a restart and frees what nobody needs', async () => {
    const database = await server.fresh()
    await withEngine(
      async test => {
        const { account } = test
        const small = bytes(1_000, 1)
        const { record } = await test.engine.pins.upload([small], { account, name: 'small.bin' })
        const large = await test.engine.pins.upload([bytes(3_000_000, 2)], { account, name: 'large.bin' })
        expect([record.status, large.record.status]).toEqual(['pinned', 'pinned'])
        const repeat = await test.engine.pins.upload([small], { account, name: 'small.bin' })
        expect([repeat.created, repeat.record.uploadId]).toEqual([false, record.uploadId])
        const directory = await test.engine.pins.uploadDirectory(
          ['b', 'a/c'].map((path, i) => ({ kind: 'file' as const, path, content: [bytes(50_000, 10 + i)] })),
          { account, name: 'tree' },
        )
        const engine = await test.restart()
        expect((await engine.pins.list({ account })).total).toBe(3)
        const found = await engine.pins.list({ account, q: 'LARGE' })
        expect(found.items.map(({ cid }) => cid)).toEqual([large.record.cid])
        const files = await engine.pins.list({ account, parentCid: directory.record.cid })
        expect(files.items.map(({ name }) => name).toSorted()).toEqual(['b', 'c'])
        const stats = await engine.stats()
        expect([stats.accounts, stats.pins.pinned, stats.roots.complete.count]).toEqual([1, 3, 3])
        expect((await engine.reconcile()).findings).toEqual([])
        for (const { cid } of [record, large.record, directory.record]) await engine.pins.remove({ account, cid })
        expect((await engine.pins.list({ account })).total).toBe(0)
        await engine.collect({ graceSeconds: 0 })
        const { blocks, roots, pins } = await engine.stats()
        expect([blocks.durable.count, roots.complete.count, pins.pinned]).toEqual([0, 0, 0])
      },
      { database },
    )
  })

  test('lists what is written there, however often it was asked before', async () => {
    const database = await server.fresh()
    await withEngine(
      async ({ engine, account }) => {
        const { secret } = await engine.keys.create(account, { name: 'reads', scopes: ['files:read'] })
        const list = async () =>
          (await callApi(engine, 'GET', '/users/me/uploads', { 'x-api-key': secret })).json.uploads
        const { record } = await engine.pins.upload([bytes(1_000, 1)], { account, name: 'first' })
        expect(await list()).toMatchObject([{ name: 'first' }])
        await engine.pins.rename({ account, uploadId: record.uploadId, name: 'renamed' })
        expect(await list()).toMatchObject([{ name: 'renamed' }])
      },
      { database },
    )
  })

  test('works on beside a node that is one version ahead, running and after a restart, and is refused beside one of two', async () => {
    const database = await server.fresh()
    const dag = (seed: number) => ({ kind: 'file' as const, path: 'a/b', content: [bytes(50_000, seed)] })
    await withEngine(
      async test => {
        const { account } = test
        let made = 0
        const work = async (engine: Engine, times = 1): Promise<void> => {
          for (let i = 0; i < times; i++) {
            const seed = made++
            const timelock = new Date(test.clock.now() + 3_600_000)
            const small = await engine.pins.upload([bytes(1_000, seed)], { account, name: 'small', timelock })
            const tree = await engine.pins.uploadDirectory([dag(seed)], { account, name: 'tree' })
            const { uploadId } = small.record
            await engine.pins.rename({ account, uploadId, name: `renamed ${seed}` })
            const found = await engine.pins.list({ account, q: `renamed ${seed}` })
            expect(found.items.map(item => item.uploadId)).toEqual([uploadId])
            expect((await engine.pins.list({ account })).total).toBe(2)
            expect((await engine.pins.list({ account, parentCid: tree.record.cid })).total).toBe(1)
            const { secret } = await engine.keys.create(account, { name: `key ${seed}`, scopes: ['files:read'] })
            const me = await callApi(engine, 'GET', '/users/me', { 'x-api-key': secret })
            expect(me.status).toBe(200)
            await engine.takedowns.add({ cid: small.record.cid, reason: 'complaint' })
            await engine.takedowns.remove({ cid: small.record.cid })
            for (const { cid } of [small.record, tree.record]) await engine.pins.remove({ account, cid })
            expect((await engine.pins.list({ account })).total).toBe(0)
          }
          await engine.collect({ graceSeconds: 0 })
          expect((await engine.stats()).roots.complete.count).toBe(0)
          expect((await engine.reconcile()).findings).toEqual([])
        }
        // Often enough for statements to be planned once for all.
        await work(test.engine, 5)
        const postgres = await Postgres.open({ url: database })
        try {
          const tables = await postgres.reading.all<{ name: string }>(
            `SELECT tablename AS name FROM pg_tables
             WHERE schemaname = current_schema() AND tablename <> 'schema_versions'`,
          )
          const added = tables.map(({ name }) => `ALTER TABLE ${name} ADD COLUMN later TEXT NOT NULL DEFAULT '';`)
          const ahead = [
            { sql: ['CREATE TABLE later (id INTEGER);', ...added].join('\n'), isTolerated: true },
            { sql: 'CREATE TABLE even_later (id INTEGER);', isTolerated: true },
          ]
          const next = (versions: number) => migrate(postgres, [...migrations, ...ahead.slice(0, versions)])
          expect(await next(1)).toBe(migrations.length + 1)
          await work(test.engine)
          await work(await test.restart())
          expect(await next(2)).toBe(migrations.length + 2)
          await work(test.engine)
          await expect(test.restart()).rejects.toMatchObject({ code: 'DATA_DIR_NEWER' })
        } finally {
          await postgres.close()
        }
      },
      { database },
    )
  })

  test('has its accounts there alone, and is of one data directory', async () => {
    const database = await server.fresh()
    await withTempDir(async dataDir => {
      const engine = await createEngine({ dataDir, database })
      await engine.accounts.create({ email: 'one@example.org', plan: 'free' })
      await engine.stop()
      await expect(createEngine({ dataDir })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
      expect(() => openAccounts({ dataDir })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
      await withTempDir(async other => {
        await expect(createEngine({ dataDir: other, database })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
        const own = await createEngine({ dataDir: other })
        await own.accounts.create({ email: 'two@example.org', plan: 'free' })
        await own.stop()
        const fresh = await server.fresh()
        await expect(createEngine({ dataDir: other, database: fresh })).rejects.toMatchObject({
          code: 'CONFIG_INVALID',
        })
      })
      const again = await createEngine({ dataDir, database })
      expect((await again.stats()).accounts).toBe(1)
      await again.stop()
    })
  })
})
