import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest'
import { migrate } from '../../../src/catalogue/postgres/migrate.ts'
import { Postgres } from '../../../src/catalogue/postgres/postgres.ts'
import { migrations } from '../../../src/catalogue/postgres/schema.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { contentRules } from '../content-rules.ts'
import { placementRules } from '../placement-rules.ts'
import { reconciliationRules } from '../reconciliation-rules.ts'
import { searchRules } from '../search-rules.ts'
import { webhookRules } from '../webhook-rules.ts'
import { withAccounts, withNode } from './catalogue-in-postgres.ts'
import { emptied } from './emptied.ts'

const rules = [...contentRules, ...searchRules, ...placementRules, ...reconciliationRules, ...webhookRules]

describe('content in PostgreSQL, held by a ledger in SQLite', needsPostgres, () => {
  let server: TestPostgres
  let database: Postgres
  beforeAll(async () => {
    server = await startPostgres()
    database = await Postgres.open({ url: await server.fresh() })
    await migrate(database, migrations)
  })
  beforeEach(async () => {
    await emptied(database)
    await withAccounts(database)
  })
  afterAll(async () => {
    await database?.close()
    await server?.stop()
  })

  test.each(rules)('$name', ({ run }) => withNode(database, 'here', run))
})
