import { type FetchParts, insertFetch, type WantedFetch } from '../../src/catalogue/rules/fetch-rows.ts'
import { statusRules } from '../../src/catalogue/rules/status-rules.ts'
import type { Postgres } from './postgres.ts'
import { ownStep, PostgresDriver } from './postgres-driver.ts'
import { NeedsHold, notifyNode, type SharedHolds, type StagedHold } from './shared-holds.ts'

/** Status changes of records in PostgreSQL, whose indexes need no extra work. */
export const STATUS = statusRules(() => undefined)

/** Returns the ports through which the fetch rules use PostgreSQL and this node's ledger. */
export function fetchParts(database: Postgres, holds: SharedHolds): FetchParts {
  return {
    driver: new PostgresDriver(database),
    node: holds.node,
    backend: holds.backend,
    status: STATUS,
    // No work: the hold is on the staged root before the fetch is written.
    hold: () => ownStep(async () => undefined),
    release: holdId => ownStep(sql => holds.void(sql, [holdId])),
    dropReleased: async () => void (await holds.releaseVoid()),
    notify: node => ownStep(sql => notifyNode(sql, node)),
  }
}

/**
 * Writes a fetch into its staged root.
 *
 * @throws NeedsHold if nothing was staged, or another fetch of the DAG exists
 */
export function* beginFetch(parts: FetchParts, holds: SharedHolds, wanted: WantedFetch, staged: StagedHold | null) {
  if (staged === null) throw new NeedsHold('the fetch has no staged root')
  yield* ownStep(sql => holds.use(sql, staged.id))
  const made = yield* insertFetch(parts, wanted, { rootId: staged.ledgerRootId, holdId: staged.id })
  // Another transaction has committed a fetch of the same DAG. It becomes visible only now.
  if (made === null) throw new NeedsHold('another fetch has begun')
  return made
}
