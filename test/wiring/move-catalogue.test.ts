import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgres } from '../../adapters/postgres/index.ts'
import { movedTables } from '../../src/catalogue/tables.ts'
import { allTables } from '../../src/features/feature-list.ts'
import { createEngine, type MoveProgress, moveCatalogue } from '../../src/index.ts'
import { collect } from '../support/bytes.ts'
import { type Filled, factsOf, fillDirectory, signIn } from '../support/filled-directory.ts'
import { newDirectory } from '../support/new-database.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../support/postgres-server.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { withTempDir } from '../support/temp-dir.ts'

const CHILD = join(import.meta.dirname, '../support/moving-child.ts')

describe('a catalogue that moves into PostgreSQL', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  /** Returns facts about a directory's catalogue, in PostgreSQL or SQLite. */
  async function factsAt(dataDir: string, filled: Filled, database?: string): Promise<object> {
    const engine = await createEngine({
      catalogue: postgres,
      dataDir: newDirectory(dataDir),
      clock: filled.clock,
      passwordCost: 1_024,
      ...(database !== undefined && { database }),
    })
    try {
      return await factsOf(engine, filled)
    } finally {
      await engine.stop()
    }
  }

  test('is complete: every account signs in and has its records', async () => {
    await withTempDir(async dataDir => {
      const filled = await fillDirectory({ dataDir })
      const { clock } = filled
      const facts = await factsAt(dataDir, filled)
      const database = await server.fresh()
      const there = withDatabase(dataDir, db => {
        const count = (table: string) => db.prepare<[], { count: number }>(`SELECT COUNT(*) AS count FROM ${table}`)
        const moved = movedTables(allTables)
        return Object.fromEntries(moved.map(({ name }) => [name, count(name).get()?.count]))
      })
      expect(there).toMatchObject({ second_factors: 1, recovery_codes: 10, webhooks: 1, root_files: 1_200, fetches: 1 })
      const { copied } = await moveCatalogue({ catalogue: postgres, dataDir, to: database })
      expect(copied).toEqual({ rows: { ...there, roots: expect.any(Number) }, recounted: [] })
      await expect(createEngine({ dataDir: newDirectory(dataDir), clock })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      })
      expect(await factsAt(dataDir, filled, database)).toEqual(facts)
      const engine = await createEngine({
        catalogue: postgres,
        dataDir: newDirectory(dataDir),
        clock,
        database,
        passwordCost: 1_024,
      })
      expect(await signIn(engine, filled)).toEqual([200, 200, 200])
      expect((await engine.reconcile()).findings).toEqual([])
      expect((await engine.verify()).damaged).toEqual([])
      for (const account of filled.accounts.slice(0, 2)) {
        clock.advance(10)
        await engine.pins.upload([Buffer.from('new')], { account, name: 'new' })
        const { items } = await engine.pins.list({ account, limit: 100 })
        expect(items[0]?.name).toBe('new')
        for (const cid of new Set(items.map(item => item.cid))) await engine.pins.remove({ account, cid })
      }
      await engine.collect({ graceSeconds: 0 })
      const { blocks, roots } = await engine.stats()
      expect([blocks.durable.count, roots.complete.count, roots.staging.count]).toEqual([0, 0, 0])
      await engine.stop()
      withDatabase(dataDir, db => {
        for (const table of ['accounts', 'api_keys', 'records', 'fetches', 'search_lists', 'search_pending', 'holds']) {
          expect([table, db.prepare(`SELECT * FROM ${table}`).all()]).toEqual([table, []])
        }
      })
    })
  })

  test('killed at any step, is at one place, and a repeat finishes', async () => {
    await withTempDir(async root => {
      const whole = join(root, 'whole')
      const filled = await fillDirectory({ dataDir: whole })
      const facts = await factsAt(whole, filled)
      const steps: Array<MoveProgress['step']> = []
      const trial = join(root, 'trial')
      await cp(whole, trial, { recursive: true })
      await moveCatalogue({
        catalogue: postgres,
        dataDir: trial,
        to: await server.fresh(),
        onProgress: ({ step }) => steps.push(step),
      })
      expect([...new Set(steps)]).toEqual(['copying', 'copied', 'switched', 'joined', 'removing'])
      for (const step of [...new Set(steps)]) {
        const survived = steps.lastIndexOf(step)
        const dataDir = join(root, `killed at ${step}`)
        await cp(whole, dataDir, { recursive: true })
        const database = await server.fresh()
        const child = spawn(process.execPath, [CHILD, dataDir, database, String(survived)], {
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        const ended = once(child, 'exit')
        const told = String(await collect(child.stdout))
          .trim()
          .split('\n')
        expect([(await ended)[1], told.at(-1)]).toEqual(['SIGKILL', step])
        const isThere = survived >= steps.indexOf('switched')
        expect(await factsAt(dataDir, filled, isThere ? database : undefined), step).toEqual(facts)
        const { copied } = await moveCatalogue({ catalogue: postgres, dataDir, to: database })
        expect(copied === null, step).toBe(isThere)
        expect(await factsAt(dataDir, filled, database), step).toEqual(facts)
      }
    })
  })

  test('copies the current data if an earlier copy was never used', async () => {
    await withTempDir(async dataDir => {
      const filled = await fillDirectory({ dataDir })
      const database = await server.fresh()
      const change = ({ step }: MoveProgress): void => {
        // Change the database as a concurrent command would.
        if (step === 'copied') withDatabase(dataDir, db => db.prepare("UPDATE accounts SET name = 'late'").run())
      }
      await expect(
        moveCatalogue({ catalogue: postgres, dataDir, to: database, onProgress: change }),
      ).rejects.toMatchObject({
        code: 'CONFLICT',
      })
      await withTempDir(async other => {
        // The same data key does not make it the same directory.
        await cp(join(dataDir, 'data.key'), join(other, 'data.key'))
        await expect(createEngine({ catalogue: postgres, dataDir: other, database })).rejects.toMatchObject({
          code: 'CONFIG_INVALID',
        })
        const own = await fillDirectory({ dataDir: other })
        expect(own.accounts).toHaveLength(3)
        await expect(moveCatalogue({ catalogue: postgres, dataDir: other, to: database })).rejects.toMatchObject({
          code: 'CONFLICT',
        })
      })
      await moveCatalogue({ catalogue: postgres, dataDir, to: database })
      await expect(moveCatalogue({ catalogue: postgres, dataDir, to: await server.fresh() })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      })
      const engine = await createEngine({
        catalogue: postgres,
        dataDir: newDirectory(dataDir),
        database,
        clock: filled.clock,
      })
      expect((await engine.accounts.list()).map(({ name }) => name)).toEqual(['late', 'late'])
      await engine.stop()
    })
  })
})
