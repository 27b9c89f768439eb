import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { migrate } from '../../../adapters/postgres/migrate.ts'
import { Postgres } from '../../../adapters/postgres/postgres.ts'
import { postgresAccess } from '../../../adapters/postgres/postgres-access.ts'
import { migrations } from '../../../adapters/postgres/schema.ts'
import type { NewKeyRow } from '../../../src/catalogue/index.ts'
import { accessRules } from '../../catalogue/access-rules.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { emptied } from './emptied.ts'

describe('the access stores in PostgreSQL', needsPostgres, () => {
  let server: TestPostgres
  let url: string
  let database: Postgres
  beforeAll(async () => {
    server = await startPostgres()
    url = await server.fresh()
    database = await Postgres.open({ url })
    await migrate(database, migrations)
  })
  beforeEach(() => emptied(database))
  afterAll(async () => {
    await database?.close()
    await server?.stop()
  })

  test('two nodes create no more keys than the plan allows', async () => {
    const other = await Postgres.open({ url })
    try {
      const [here, there] = [postgresAccess(database, 'here'), postgresAccess(other, 'there')]
      const rest = { name: null, plan: 'free', role: 'user' as const, defaultCluster: null, disabled: false }
      await here.accounts.insert({ id: 'one', email: 'one@example.org', ...rest, createdAt: 1 }, null)
      const made = Array.from({ length: 20 }, (_, i) =>
        (i % 2 === 0 ? here : there).keys.insert(key(`k${i}`), { now: 1, maxKeys: 10 }),
      )
      expect((await Promise.all(made)).filter(outcome => outcome === 'inserted')).toHaveLength(10)
    } finally {
      await other.close()
    }
  })

  test.each(accessRules)('$name', ({ run }) => run(postgresAccess(database, 'here')))
})

function key(id: string): NewKeyRow {
  const rest = { parentId: null, label: null, prefix: 'hf_', scopes: [], ipAllowlist: [], createdAt: 1 }
  const ends = { expiresAt: null, lastUsedAt: null, upload: null }
  return { id, accountId: 'one', name: id, hash: Buffer.from(id), ...rest, ...ends }
}
