import { type FetchParts, insertFetch, type WantedFetch } from '../../../src/catalogue/rules/fetch-rows.ts'
import { statusRules } from '../../../src/catalogue/rules/status-rules.ts'
import type { Postgres } from '../database/postgres.ts'
import { ownStep, PostgresDriver } from '../database/postgres-driver.ts'
import { NeedsHold, notifyNode, type SharedHolds, type StagedHold } from './shared-holds.ts'

/** Updates no index when a status changes, because PostgreSQL maintains its indexes itself. */
export const STATUS = statusRules(() => undefined)

export function fetchParts(database: Postgres, holds: SharedHolds): FetchParts {
  return {
    driver: new PostgresDriver(database),
    node: holds.node,
    backend: holds.backend,
    status: STATUS,
    // Do nothing: the staged root has a hold before the fetch is inserted.
    hold: () => ownStep(async () => undefined),
    release: holdId => ownStep(sql => holds.void(sql, [holdId])),
    dropReleased: async () => void (await holds.releaseVoid()),
    notify: node => ownStep(sql => notifyNode(sql, node)),
  }
}

/**
 * Inserts a fetch whose blocks go into the staged root.
 *
 * @throws NeedsHold if `staged` is null, or another fetch of the DAG exists
 */
export function* beginFetch(parts: FetchParts, holds: SharedHolds, wanted: WantedFetch, staged: StagedHold | null) {
  if (staged === null) throw new NeedsHold('the fetch has no staged root')
  yield* ownStep(sql => holds.use(sql, [staged.id]))
  const made = yield* insertFetch(parts, wanted, { rootId: staged.ledgerRootId, holdId: staged.id })
  // Another transaction has begun a fetch of this DAG. Only a new transaction can see it.
  if (made === null) throw new NeedsHold('another fetch has begun')
  return made
}
