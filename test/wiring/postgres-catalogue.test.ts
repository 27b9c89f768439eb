import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres } from '../../adapters/postgres/database/postgres.ts'
import { postgres } from '../../adapters/postgres/index.ts'
import { migrate } from '../../adapters/postgres/schema/migrate.ts'
import { migrations } from '../../adapters/postgres/schema/schema.ts'
import { createEngine, type Engine, openAccounts } from '../../src/index.ts'
import { callApi } from '../support/api-call.ts'
import { type DatabaseProxy, openProxy } from '../support/database-proxy.ts'
import { newDirectory } from '../support/new-database.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../support/postgres-server.ts'
import { viaGateway } from '../support/read-back.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

describe('an engine with its catalogue in PostgreSQL', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  const bytes = (size: number, seed: number): Uint8Array => {
    const block = createHash('sha256').update(String(seed)).digest()
    return Buffer.alloc(size, block)
  }

  test('uploads, lists, searches, restarts and frees unused content', async () => {
    const database = await server.migrated()
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

  /** Starts an engine with a pin, and a proxy to its database that a test can interrupt. */
  const withProxy = async (
    run: (test: TestEngine & { proxy: DatabaseProxy; cid: string; database: Postgres }) => Promise<void>,
  ): Promise<void> => {
    const url = await server.migrated()
    const proxy = await openProxy(url)
    const database = await Postgres.open({ url })
    try {
      await withEngine(
        async test => {
          const { record } = await test.engine.pins.upload([bytes(1_000, 1)], { account: test.account })
          try {
            await run({ ...test, proxy, cid: record.cid, database })
          } finally {
            proxy.recover()
          }
        },
        { database: proxy.url },
      )
    } finally {
      await database.close()
      await proxy.stop()
    }
  }

  test('with a hanging database answers everything that does not need it', async () => {
    await withProxy(async ({ engine, account, proxy, cid }) => {
      const stands = proxy.inject({ at: 0, when: 'before', what: 'stop' })
      let answered = 0
      const asked = Array.from({ length: 24 }, async (_, i) => {
        await engine.pins.upload([bytes(500, 100 + i)], { account })
        answered++
      })
      await stands
      expect((await callApi(engine, 'GET', '/health')).status).toBe(200)
      expect((await viaGateway(engine, `/ipfs/${cid}`)).status).toBe(200)
      expect(answered).toBe(0)
      proxy.recover()
      await Promise.all(asked)
      expect((await engine.pins.list({ account })).total).toBe(25)
      expect(proxy.connections().most).toBeLessThanOrEqual(16)
    })
  })

  test('reports a read-only database, and recovers with it', async () => {
    await withProxy(async ({ engine, account, clock, proxy, cid, database }) => {
      const set = async (change: string) => {
        const name = await database.reading.first<{ name: string }>('SELECT current_database() AS name')
        await database.command(`ALTER DATABASE ${name?.name} ${change}`)
        // The setting applies to new connections.
        await database.reading.all(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
          [proxy.application],
        )
      }
      const write = () =>
        engine.pins.upload([bytes(1_000, 2)], { account }).then(
          () => 'done',
          ({ code }) => code,
        )
      const ready = async () => {
        clock.advance(400)
        const { status, json } = await callApi(engine, 'GET', '/ready')
        return [status, json.status]
      }
      await set('SET default_transaction_read_only = on')
      await expect.poll(ready).toEqual([503, 'no-catalogue'])
      expect(await write()).toBe('UNAVAILABLE')
      const listed = () =>
        engine.pins.list({ account }).then(
          ({ total }) => total,
          () => null,
        )
      await expect.poll(listed).toBe(1)
      expect((await viaGateway(engine, `/ipfs/${cid}`)).status).toBe(200)
      await set('RESET default_transaction_read_only')
      await expect.poll(ready).toEqual([200, 'ok'])
      await expect.poll(write).toBe('done')
    })
  })

  test('lists new records of other nodes, without stale caches', async () => {
    const database = await server.migrated()
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

  test('works beside a node one version ahead, but not two', async () => {
    const database = await server.migrated()
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
        // Repeat it until PostgreSQL uses generic plans.
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

  test('has its accounts only in PostgreSQL, for one data directory', async () => {
    const database = await server.migrated()
    await withTempDir(async dataDir => {
      const engine = await createEngine({ catalogue: postgres, dataDir: newDirectory(dataDir), database })
      await engine.accounts.create({ email: 'one@example.org', plan: 'free' })
      await engine.stop()
      await expect(createEngine({ dataDir: newDirectory(dataDir) })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
      expect(() => openAccounts({ dataDir })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
      await withTempDir(async other => {
        await expect(createEngine({ catalogue: postgres, dataDir: other, database })).rejects.toMatchObject({
          code: 'CONFIG_INVALID',
        })
        const own = await createEngine({ dataDir: other })
        await own.accounts.create({ email: 'two@example.org', plan: 'free' })
        await own.stop()
        const fresh = await server.migrated()
        await expect(createEngine({ catalogue: postgres, dataDir: other, database: fresh })).rejects.toMatchObject({
          code: 'CONFIG_INVALID',
        })
      })
      const again = await createEngine({ catalogue: postgres, dataDir: newDirectory(dataDir), database })
      expect((await again.stats()).accounts).toBe(1)
      await again.stop()
    })
  })
})
