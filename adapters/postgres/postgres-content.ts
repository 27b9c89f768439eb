import type { Copies } from '../../src/catalogue/copies.ts'
import type { Offers } from '../../src/catalogue/offers.ts'
import { fileRules } from '../../src/catalogue/rules/file-rules.ts'
import { reconciliationRules } from '../../src/catalogue/rules/reconciliation-rules.ts'
import { stopRules } from '../../src/catalogue/rules/stop-rules.ts'
import type { NodeWork, SharedContent } from '../../src/catalogue/shared-catalogue.ts'
import type { CatalogueTable } from '../../src/catalogue/tables.ts'
import { type Clock, systemClock } from '../../src/domain/clock.ts'
import type { CatalogueHolds } from '../../src/ledger/catalogue-holds.ts'
import { hasCopies } from './copies/copy-sets.ts'
import type { Postgres } from './database/postgres.ts'
import { PostgresDriver } from './database/postgres-driver.ts'
import { backendsOf } from './holds/backends.ts'
import { SharedHolds } from './holds/shared-holds.ts'
import { PostgresNodeWork } from './moves/node-work.ts'
import { PostgresOffers } from './moves/postgres-offers.ts'
import { PostgresReconciliation } from './moves/postgres-reconciliation.ts'
import { LostPace } from './nodes/lost-pace.ts'
import type { ContentParts } from './records/content-change.ts'
import { postgresFetches } from './records/postgres-fetches.ts'
import { postgresPlacements } from './records/postgres-placements.ts'
import { postgresRecords } from './records/postgres-records.ts'

/** This node. Holds are stored with its name, and its number is part of the numbers of its backends. */
interface OwnNode {
  name: string
  number: number
  clock?: Clock
  /** Id of the current run. */
  run?: string
  /** The tables of features. */
  tables?: readonly CatalogueTable[]
}

/**
 * Returns the stores of records. The caller owns the ledger and the migrated database.
 *
 * @param external the numbers of the external backends, each of which needs placements
 */
export function postgresContent(
  database: Postgres,
  ledger: CatalogueHolds,
  { name, number, clock = systemClock, run = '', tables = [] }: OwnNode,
  external: ReadonlySet<number> = new Set(),
): {
  content: SharedContent
  work: NodeWork
  offers: Offers
  copies: () => Promise<Copies | null>
} {
  const backend = backendsOf(number)
  const holds = new SharedHolds(database, ledger, name, backend)
  const parts = { database, ledger, holds, external, pace: new LostPace(tables) }
  const driver = new PostgresDriver(database)
  const reconciliation = new PostgresReconciliation(parts)
  let known: Copies | null = null
  const copies = async (): Promise<Copies | null> => {
    if (known === null && (await hasCopies(database.reading))) known = await loadCopies(parts, run, clock)
    return known
  }
  const content = {
    ...postgresRecords(parts, clock),
    fetches: postgresFetches(parts),
    files: fileRules(driver),
    stops: stopRules(driver, name),
    placements: postgresPlacements(parts),
    reconciliation: reconciliationRules(driver, reconciliation),
  }
  const offers = new PostgresOffers(parts, { mend: (wrong, now) => reconciliation.mend(wrong, now) })
  return {
    content,
    work: new PostgresNodeWork(parts),
    offers,
    copies,
  }
}

async function loadCopies(parts: ContentParts, run: string, clock: Clock): Promise<Copies> {
  const { PostgresCopies } = await import('./copies/postgres-copies.ts')
  return new PostgresCopies(parts, run, clock)
}
