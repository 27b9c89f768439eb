import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkWays } from '../support/byte-name-ways.ts'
import { hasPostgres, needsPostgres, type SharedPostgres, sharedPostgres } from '../support/postgres-server.ts'
import { withTempDir } from '../support/temp-dir.ts'

let server: SharedPostgres | undefined
beforeAll(async () => {
  if (hasPostgres) server = await sharedPostgres()
})
afterAll(() => server?.stop())

test('names of any bytes survive every way, with SQLite', async () => {
  expect.hasAssertions()
  await withTempDir(dir => checkWays(dir, { folders: 3, names: 30 }))
})

test('names of any bytes survive every way, with PostgreSQL', needsPostgres, async () => {
  expect.hasAssertions()
  await withTempDir(async dir => {
    const database = await (server as SharedPostgres).migrated()
    await checkWays(dir, { database, folders: 3, names: 30 })
  })
})
