import { fileRules } from '../../src/catalogue/rules/file-rules.ts'
import { reconciliationRules } from '../../src/catalogue/rules/reconciliation-rules.ts'
import type { NodeWork, SharedContent } from '../../src/catalogue/shared-catalogue.ts'
import type { CatalogueHolds } from '../../src/ledger/catalogue-holds.ts'
import { backendsOf } from './backends.ts'
import { PostgresNodeWork } from './node-work.ts'
import type { Postgres } from './postgres.ts'
import { PostgresDriver } from './postgres-driver.ts'
import { postgresFetches } from './postgres-fetches.ts'
import { postgresPlacements } from './postgres-placements.ts'
import { PostgresReconciliation } from './postgres-reconciliation.ts'
import { postgresRecords } from './postgres-records.ts'
import { SharedHolds } from './shared-holds.ts'

/**
 * The part of the catalogue that is about content. The database, migrated, and the ledger are the caller's.
 *
 * @param node by which the holds of this ledger are told from others', and its backends by its number
 * @param elsewhere the backends that have to be told what to keep
 */
export function postgresContent(
  database: Postgres,
  ledger: CatalogueHolds,
  { name, number }: { name: string; number: number },
  elsewhere: ReadonlySet<number> = new Set(),
): { content: SharedContent; work: NodeWork } {
  const backend = backendsOf(number)
  const holds = new SharedHolds(database, ledger, name, backend)
  const parts = { database, ledger, holds, elsewhere }
  const driver = new PostgresDriver(database)
  const content = {
    records: postgresRecords(parts),
    fetches: postgresFetches(parts),
    files: fileRules(driver),
    placements: postgresPlacements(parts),
    reconciliation: reconciliationRules(driver, new PostgresReconciliation(parts)),
  }
  return { content, work: new PostgresNodeWork(database, holds) }
}
