import { afterAll, beforeAll, beforeEach } from 'vitest'
import { migrate } from '../../../adapters/postgres/migrate.ts'
import { Postgres } from '../../../adapters/postgres/postgres.ts'
import { migrations } from '../../../adapters/postgres/schema.ts'
import { startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { withAccounts } from './catalogue-in-postgres.ts'
import { emptied } from './emptied.ts'

type Use = (database: Postgres, server: TestPostgres, url: string) => void | Promise<void>

/**
 * Opens a migrated database before the tests of a suite, and closes it after them.
 *
 * @param use is called once with the database
 * @param options.connections number of connections
 * @param options.isAsynchronous true for commits that do not wait for the disk
 */
export function openedDatabase(use: Use, options: { connections?: number; isAsynchronous?: boolean } = {}): void {
  const { isAsynchronous = false, ...given } = options
  let server: TestPostgres | undefined
  let database: Postgres | undefined
  beforeAll(async () => {
    server = await startPostgres()
    const fresh = await server.fresh()
    const url = isAsynchronous ? asynchronous(fresh) : fresh
    database = await Postgres.open({ ...given, url })
    await migrate(database, migrations)
    await use(database, server, url)
  })
  afterAll(async () => {
    await database?.close()
    await server?.stop()
  })
}

/** Opens a database as {@link openedDatabase} does. Each test begins with empty tables and the accounts of the rules. */
export function emptiedDatabase(use: Use): void {
  let database: Postgres | undefined
  openedDatabase((opened, ...others) => {
    database = opened
    return use(opened, ...others)
  })
  beforeEach(async () => {
    if (database === undefined) return
    await emptied(database)
    await withAccounts(database)
  })
}

/** Returns a URL for connections whose commits do not wait for the disk. */
export function asynchronous(url: string): string {
  const changed = new URL(url)
  const options = `${changed.searchParams.get('options') ?? ''} -c synchronous_commit=off`
  changed.searchParams.set('options', options.trim())
  return changed.href
}
