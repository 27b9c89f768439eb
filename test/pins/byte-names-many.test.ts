import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkWays } from '../support/byte-name-ways.ts'
import { hasPostgres, needsPostgres, type SharedPostgres, sharedPostgres } from '../support/postgres-server.ts'
import { withTempDir } from '../support/temp-dir.ts'

/** Names are alike, so an ordinary run sends a quarter of them. */
const FOLDERS = (process.env.HOLDFAST_TEST_HEAVY ?? '') === '' ? 25 : 100
/** On two busy cores that other work shares, in ms. */
const timeout = 1_800_000

let server: SharedPostgres | undefined
beforeAll(async () => {
  if (hasPostgres) server = await sharedPostgres()
})
afterAll(() => server?.stop())

test(`${FOLDERS * 200} names of any bytes survive every way, with SQLite`, { timeout }, async () => {
  expect.hasAssertions()
  await withTempDir(dir => checkWays(dir, { folders: FOLDERS, names: 200 }))
})

test(`${FOLDERS * 200} names of any bytes survive every way, with PostgreSQL`, {
  ...needsPostgres,
  timeout,
}, async () => {
  expect.hasAssertions()
  await withTempDir(async dir => {
    const database = await (server as SharedPostgres).migrated()
    await checkWays(dir, { database, folders: FOLDERS, names: 200 })
  })
})
