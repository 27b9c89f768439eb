import { type FetchParts, insertFetch, type WantedFetch } from '../../src/catalogue/rules/fetch-rows.ts'
import { statusRules } from '../../src/catalogue/rules/status-rules.ts'
import type { Postgres } from './postgres.ts'
import { ownStep, PostgresDriver } from './postgres-driver.ts'
import { NeedsHold, type SharedHolds, type StagedHold, tellNode } from './shared-holds.ts'

/** Status of records in PostgreSQL: its indexes need no note of a change. */
export const STATUS = statusRules(() => undefined)

/** Returns the ports by which the rules of fetches use PostgreSQL and this node's ledger. */
export function fetchParts(database: Postgres, holds: SharedHolds): FetchParts {
  return {
    driver: new PostgresDriver(database),
    node: holds.node,
    backend: holds.backend,
    status: STATUS,
    // The hold is on the staged root before the fetch is written.
    hold: () => ownStep(async () => undefined),
    release: holdId => ownStep(sql => holds.void(sql, [holdId])),
    letGo: async () => void (await holds.letGo()),
    tell: node => ownStep(sql => tellNode(sql, node)),
  }
}

/**
 * Writes a fetch into a root that was staged for it.
 *
 * @throws NeedsHold if nothing was staged, or another fetch has begun
 */
export function* beginFetch(parts: FetchParts, holds: SharedHolds, wanted: WantedFetch, staged: StagedHold | null) {
  if (staged === null) throw new NeedsHold('nothing is staged for the fetch')
  yield* ownStep(sql => holds.use(sql, staged.id))
  const made = yield* insertFetch(parts, wanted, { rootId: staged.ledgerRootId, holdId: staged.id })
  // Another transaction has committed one at the same time, which this one sees only now.
  if (made === null) throw new NeedsHold('another fetch has begun')
  return made
}
