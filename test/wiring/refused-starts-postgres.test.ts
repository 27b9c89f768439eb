import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import { createEngine, type EngineOptions, type HoldfastError, startRefusals } from '../../src/index.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../support/postgres-server.ts'
import { temporaryDirectory } from '../support/server-process.ts'
import { POSTGRES_CASES } from './start-postgres-cases.ts'

describe('a start that PostgreSQL refuses', needsPostgres, () => {
  let server: SharedPostgres
  let client: pg.Client
  let options: EngineOptions
  const home = temporaryDirectory()

  beforeAll(async () => {
    server = await sharedPostgres()
    const database = await server.fresh()
    const node = { id: 'a', url: 'http://127.0.0.1:1' }
    const clusters = [{ id: 'near', node: 'a' }]
    options = { ...serverAdapters, dataDir: join(home.path, 'a'), database, node, clusters, defaultCluster: 'near' }
    expect(await startRefusals(options)).toEqual([])
    expect(await readdir(home.path)).toEqual([])
    await (await createEngine(options)).stop()
    client = new pg.Client({ connectionString: database })
    await client.connect()
  })
  afterAll(async () => {
    await client?.end()
    await server?.stop()
    home.remove()
  })

  const snapshot = async (): Promise<unknown> => (await client.query('SELECT to_json(nodes) AS row FROM nodes')).rows

  test.each(Object.entries(POSTGRES_CASES))('is a finding without a start: %s', async (_, found) => {
    if (found.sql !== undefined) await client.query(found.sql)
    try {
      const directory = found.isNew === true ? { dataDir: join(home.path, 'new') } : {}
      const { node: _, clusters: __, defaultCluster: ___, ...alone } = options
      const given = { ...(found.isAlone === true ? alone : options), ...directory, ...found.options }
      const before = await snapshot()
      const refusals = await startRefusals(given)
      expect(await snapshot()).toEqual(before)
      const refusal = await createEngine(given).then(
        engine => engine.stop(),
        (error: HoldfastError) => error,
      )
      expect(refusals.map(({ code, message }) => ({ code, message }))).toEqual([
        { code: refusal?.code, message: refusal?.message },
      ])
    } finally {
      if (found.undo !== undefined) await client.query(found.undo)
    }
  })

  test('is none for the node itself, before and after its start', async () => {
    expect(await startRefusals(options)).toEqual([])
    const engine = await createEngine(options)
    expect(await startRefusals(options)).toEqual([])
    await engine.stop()
  })
})
