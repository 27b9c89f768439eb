import type { BlockTable } from '../../ledger/block-table.ts'
import type { Claims } from '../../ledger/claims.ts'
import type { Holds } from '../../ledger/holds.ts'
import { RootOwners } from '../../ledger/root-owners.ts'
import type { RootTable } from '../../ledger/root-table.ts'
import type { Database } from '../../storage/database.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { CoreCatalogue } from '../catalogue.ts'
import { fileRules } from '../rules/file-rules.ts'
import { reconciliationRules } from '../rules/reconciliation-rules.ts'
import { statusRules } from '../rules/status-rules.ts'
import { stopRules } from '../rules/stop-rules.ts'
import { FetchTable } from './fetch-table.ts'
import { ownerChange } from './owner-change.ts'
import { RecordCommit } from './record-commit.ts'
import { RecordPages } from './record-pages.ts'
import { RecordTable } from './record-table.ts'
import { SearchIndex } from './search-index.ts'
import { SqliteDriver, SqliteStatements } from './sqlite-driver.ts'
import { sqliteFetches } from './sqlite-fetches.ts'
import { sqlitePlacements } from './sqlite-placements.ts'
import { SqliteReconciliation } from './sqlite-reconciliation.ts'
import { sqliteRecords } from './sqlite-records.ts'

/**
 * Creates the stores for content in the ledger's database, so that one commit writes a record and its hold.
 * The caller owns the database and the queue.
 *
 * @param external the numbers of the external backends, which need placements
 */
export function sqliteContent(
  db: Database,
  queue: WriteQueue,
  ledger: { roots: RootTable; holds: Holds; blocks: BlockTable; claims: Claims },
  external: ReadonlySet<number> = new Set(),
): Pick<CoreCatalogue, 'records' | 'bulk' | 'stops' | 'fetches' | 'files' | 'placements' | 'reconciliation'> {
  const searchIndex = new SearchIndex(db, queue)
  const statements = new SqliteStatements(db)
  const driver = new SqliteDriver(statements, queue)
  const changed = searchIndex.changed.bind(searchIndex)
  const records = new RecordTable(db, changed, statements)
  const status = statusRules(changed)
  const fetches = new FetchTable(db, driver, statements, { ...ledger, status })
  const owners = new RootOwners(db, { ...ledger, queue })
  const tables = { records, fetches, statements, owners, ...ledger }
  const commit = new RecordCommit(tables, external)
  const pages = new RecordPages(db, records)
  const setOwner = ownerChange({ table: records, owners, holds: ledger.holds, queue })
  return {
    ...sqliteRecords({ db, driver, table: records, holds: ledger.holds, commit, pages, searchIndex, setOwner }),
    stops: stopRules(driver, ''),
    files: fileRules(driver),
    fetches: sqliteFetches(tables, commit, record => pages.added(record)),
    placements: sqlitePlacements(driver, status, ledger),
    reconciliation: reconciliationRules(driver, new SqliteReconciliation(tables, commit, queue)),
  }
}
