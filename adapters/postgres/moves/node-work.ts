import type { LostContent } from '../../../src/catalogue/lost-content.ts'
import type { LeftFetch, NodeWork } from '../../../src/catalogue/shared-catalogue.ts'
import type { OwnedDag } from '../../../src/ledger/whole-dag.ts'
import type { Postgres } from '../database/postgres.ts'
import type { SharedHolds } from '../holds/shared-holds.ts'
import type { ContentParts } from '../records/content-change.ts'
import { PostgresLostContent } from './postgres-lost-content.ts'

const STEP = 50

/** Work that other nodes leave for this node, even while this node is down. Each piece of work is done once. */
export class PostgresNodeWork implements NodeWork {
  readonly #database: Postgres
  readonly #holds: SharedHolds
  readonly lost: LostContent

  constructor(parts: ContentParts) {
    this.#database = parts.database
    this.#holds = parts.holds
    this.lost = new PostgresLostContent(parts)
  }

  gone(told: (dag: OwnedDag) => void): void {
    this.#holds.gone(told)
  }

  async dropReleased(): Promise<void> {
    await this.#holds.voidExpired()
    await this.#holds.releaseVoid()
  }

  async hasMore(): Promise<boolean> {
    return (await this.#holds.hasMore()) || (await this.leftFetches()).length > 0
  }

  leftFetches(): Promise<LeftFetch[]> {
    return this.#database.reading.all<LeftFetch>(
      'SELECT id, leavings FROM fetches WHERE node = $1 AND leavings > 0 ORDER BY id LIMIT $2',
      [this.#holds.node, STEP],
    )
  }

  async markChecked({ id, leavings }: LeftFetch): Promise<void> {
    await this.#database.command('UPDATE fetches SET leavings = leavings - $2 WHERE id = $1', [id, leavings])
  }
}
