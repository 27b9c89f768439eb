import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest'
import { migrate } from '../../../adapters/postgres/migrate.ts'
import { Postgres } from '../../../adapters/postgres/postgres.ts'
import { migrations } from '../../../adapters/postgres/schema.ts'
import { auditRules } from '../../catalogue/audit-rules.ts'
import { bulkModel } from '../../catalogue/bulk-model.ts'
import { bulkRules } from '../../catalogue/bulk-rules.ts'
import { contentRules } from '../../catalogue/content-rules.ts'
import { egressRules } from '../../catalogue/egress-rules.ts'
import { placementRules } from '../../catalogue/placement-rules.ts'
import { reconciliationRules } from '../../catalogue/reconciliation-rules.ts'
import { searchRules } from '../../catalogue/search-rules.ts'
import { webhookRules } from '../../catalogue/webhook-rules.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { withAccounts, withNode } from './catalogue-in-postgres.ts'
import { emptied } from './emptied.ts'

const rules = [
  ...contentRules,
  ...bulkRules,
  ...bulkModel,
  ...searchRules,
  ...placementRules,
  ...reconciliationRules,
  ...webhookRules,
  ...egressRules,
  ...auditRules,
]

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
