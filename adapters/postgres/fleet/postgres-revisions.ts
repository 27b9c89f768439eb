import type { RevisionRows, UnconfirmedNode } from '../../../src/catalogue/revision-rows.ts'
import type { Postgres } from '../database/postgres.ts'
import { IS_GIVEN_UP } from '../nodes/node-states.ts'
import { NEWEST_REVISION } from '../schema/schema-revisions.ts'
import { isThereAfter } from './node-list.ts'

export class PostgresRevisions implements RevisionRows {
  readonly #database: Postgres
  readonly #node: string

  /** @param node name of this node */
  constructor(database: Postgres, node: string) {
    this.#database = database
    this.#node = node
  }

  async newest(): Promise<number> {
    const row = await this.#database.reading.first<{ number: number }>(`SELECT ${NEWEST_REVISION} AS number`)
    return row?.number ?? 0
  }

  async confirm(number: number): Promise<void> {
    await this.#database.command('UPDATE nodes SET confirmed = $2 WHERE name = $1', [this.#node, number])
  }

  /** A clean stop clears `seen_at`. A node that starts follows all changes before it serves. */
  unconfirmed(number: number): Promise<UnconfirmedNode[]> {
    return this.#database.reading.all<UnconfirmedNode>(
      `SELECT id AS node, confirmed IS NOT NULL AND ${isThereAfter('0')} AS "isAwaited" FROM nodes
       WHERE id IS NOT NULL AND name <> $1 AND seen_at IS NOT NULL AND NOT ${IS_GIVEN_UP}
         AND COALESCE(confirmed < $2, TRUE) ORDER BY number`,
      [this.#node, number],
    )
  }
}
