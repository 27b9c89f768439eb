import { afterAll, beforeAll, beforeEach } from 'vitest'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { migrate } from '../../../adapters/postgres/schema/migrate.ts'
import { migrations } from '../../../adapters/postgres/schema/schema.ts'
import { type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { withAccounts } from './catalogue-in-postgres.ts'
import { emptied } from './emptied.ts'

interface OpenOptions {
  connections?: number
  isAsynchronous?: boolean
  start?: () => Promise<SharedPostgres>
}

type Use = (database: Postgres, url: string) => void | Promise<void>

/**
 * Opens a migrated database before the tests of a suite, and closes it after them.
 *
 * @param use is called once with the database
 * @param options.connections number of connections
 * @param options.isAsynchronous true for commits that do not wait for the disk
 * @param options.start starts the server; default: the server of this run
 */
export function openedDatabase(use: Use, options: OpenOptions = {}): void {
  const { isAsynchronous = false, start = sharedPostgres, ...given } = options
  let server: SharedPostgres | undefined
  let database: Postgres | undefined
  beforeAll(async () => {
    server = await start()
    const fresh = await server.migrated()
    const url = isAsynchronous ? asynchronous(fresh) : fresh
    database = await Postgres.open({ ...given, url })
    await migrate(database, migrations)
    await use(database, url)
  })
  afterAll(async () => {
    await database?.close()
    await server?.stop()
  })
}

/** Opens a database as {@link openedDatabase} does. Each test begins with empty tables and the accounts of the rules. */
export function emptiedDatabase(use: Use, options: OpenOptions = {}): void {
  let database: Postgres | undefined
  openedDatabase((opened, url) => {
    database = opened
    return use(opened, url)
  }, options)
  beforeEach(async () => {
    if (database === undefined) return
    await emptied(database)
    await withAccounts(database)
  })
}

/** Opens a database as {@link emptiedDatabase} does. Each test begins with the nodes `here` and `there`, numbers 0 and 1. */
export function databaseOfTwoNodes(use: Use): void {
  let database: Postgres | undefined
  emptiedDatabase((opened, url) => {
    database = opened
    return use(opened, url)
  })
  beforeEach(async () => {
    const node = 'INSERT INTO nodes (name, number, id, url) VALUES ($1, $2, $1, $1)'
    for (const [number, name] of ['here', 'there'].entries()) await database?.command(node, [name, number])
  })
}

/** Returns a URL for connections whose commits do not wait for the disk. */
export function asynchronous(url: string): string {
  const changed = new URL(url)
  const options = `${changed.searchParams.get('options') ?? ''} -c synchronous_commit=off`
  changed.searchParams.set('options', options.trim())
  return changed.href
}
