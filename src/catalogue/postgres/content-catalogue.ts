import type { CatalogueHolds } from '../../ledger/catalogue-holds.ts'
import type { Catalogue } from '../catalogue.ts'
import { PostgresFetches } from './fetches.ts'
import { PostgresPlacements } from './placements.ts'
import type { Postgres } from './postgres.ts'
import { PostgresReconciliation } from './reconciliation.ts'
import { PostgresRecords } from './records.ts'
import { PostgresFiles } from './root-files.ts'
import { SharedHolds } from './shared-holds.ts'

/**
 * The part of the catalogue that is about content. The database, migrated, and the ledger are the caller's.
 *
 * @param node by which the holds of this ledger are told from others'
 * @param elsewhere the backends that have to be told what to keep
 */
export function postgresContent(
  database: Postgres,
  ledger: CatalogueHolds,
  node: string,
  elsewhere: ReadonlySet<number> = new Set(),
): Pick<Catalogue, 'records' | 'fetches' | 'files' | 'placements' | 'reconciliation'> {
  const holds = new SharedHolds(database, ledger, node)
  const parts = { database, ledger, holds, elsewhere }
  return {
    records: new PostgresRecords(parts),
    fetches: new PostgresFetches(parts),
    files: new PostgresFiles(database),
    placements: new PostgresPlacements(database, node, ledger),
    reconciliation: new PostgresReconciliation(parts),
  }
}
