import type { DagIdentity } from '../../ipld/cid.ts'
import type { Postgres } from './postgres.ts'
import type { SharedHolds } from './shared-holds.ts'

/** A fetch of this node that records have left on another one. */
export interface LeftFetch {
  id: number
  /** How often, as far as is known. */
  leavings: number
}

/** Fetches that one look is for. */
const STEP = 50

/** What follows on this node from what others have done, while it was there or not: each once, and in the end. */
export class NodeWork {
  readonly #database: Postgres
  readonly #holds: SharedHolds

  constructor(database: Postgres, holds: SharedHolds) {
    this.#database = database
    this.#holds = holds
  }

  /** Calls `told` with each DAG that this node holds no more, whoever has removed it. */
  gone(told: (dag: DagIdentity) => void): void {
    this.#holds.gone(told)
  }

  /** Lets go of what nobody needs any more, whoever removed it. */
  async letGo(): Promise<void> {
    await this.#holds.letGo()
  }

  /** Fetches that records have left on other nodes, and nobody here has looked at since: some of many. */
  leftFetches(): Promise<LeftFetch[]> {
    return this.#database.reading.all<LeftFetch>(
      'SELECT id, leavings FROM fetches WHERE node = $1 AND leavings > 0 ORDER BY id LIMIT $2',
      [this.#holds.node, STEP],
    )
  }

  /** Notes that it has been looked whether anybody waits for a fetch; who left it meanwhile is still to be looked at. */
  async lookedAt({ id, leavings }: LeftFetch): Promise<void> {
    await this.#database.command('UPDATE fetches SET leavings = leavings - $2 WHERE id = $1', [id, leavings])
  }
}
