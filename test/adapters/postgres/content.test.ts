import { describe, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { bulkModel } from '../../catalogue/bulk-model.ts'
import { bulkRules } from '../../catalogue/bulk-rules.ts'
import { contentRules } from '../../catalogue/content-rules.ts'
import { egressRules } from '../../catalogue/egress-rules.ts'
import { featureRules } from '../../catalogue/feature-rules.ts'
import { placementRules } from '../../catalogue/placement-rules.ts'
import { reconciliationRules } from '../../catalogue/reconciliation-rules.ts'
import { searchRules } from '../../catalogue/search-rules.ts'
import { visibilityRules } from '../../catalogue/visibility-rules.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { withNode } from './catalogue-in-postgres.ts'
import { emptiedDatabase } from './opened-database.ts'

const rules = [
  ...contentRules,
  ...bulkRules,
  ...bulkModel,
  ...searchRules,
  ...placementRules,
  ...reconciliationRules,
  ...visibilityRules,
  ...featureRules,
  ...egressRules,
]

describe('content in PostgreSQL, held by a ledger in SQLite', needsPostgres, () => {
  let database: Postgres
  emptiedDatabase(opened => {
    database = opened
  })

  test.each(rules)('$name', ({ run }) => withNode(database, 'here', run))
})
