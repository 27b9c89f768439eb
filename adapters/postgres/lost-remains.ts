import type { LostNode } from '../../src/catalogue/lost-content.ts'
import { BACKENDS_OF_NODE } from '../../src/catalogue/rules/dialect.ts'
import { LAST_BACKEND, NODE_NUMBER } from './backends.ts'
import { changeState } from './node-states.ts'
import type { Postgres } from './postgres.ts'
import { deleteFiles } from './root-files.ts'
import type { SharedHolds } from './shared-holds.ts'
import { dropUnheld } from './shared-roots.ts'

const STEP = 200

/** Removes the rows of a lost node that belong to no record: holds, fetches, removed records, placements and roots. */
export class LostRemains {
  readonly #database: Postgres
  readonly #holds: SharedHolds

  constructor(database: Postgres, holds: SharedHolds) {
    this.#database = database
    this.#holds = holds
  }

  /**
   * Makes the unused holds of the node void, after every transaction that began before the node was given up. The node
   * cannot begin holds any more, so no later commit of it can succeed.
   */
  async fence({ name }: LostNode): Promise<boolean> {
    const running = await this.#database.reading.first(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND backend_xid IS NOT NULL
         AND xact_start < (SELECT state_at FROM nodes WHERE name = $1) LIMIT 1`,
      [name],
    )
    if (running !== undefined) return false
    for (let found = STEP; found === STEP; ) {
      found = await this.#database.transaction(async sql => {
        const text = `SELECT id FROM holds WHERE state = 'placing' AND node = $1 ORDER BY placed_at LIMIT $2 FOR UPDATE`
        const ids = (await sql.all<{ id: string }>(text, [name, STEP])).map(({ id }) => id)
        await this.#holds.void(sql, ids)
        return ids.length
      })
    }
    return true
  }

  async remove(node: LostNode): Promise<void> {
    await this.#removedRecords(node)
    await this.#fetches(node)
    await this.#holdRows(node)
    await this.#placements(node)
    await this.#roots(node)
    await deleteFiles(this.#database)
    await this.#database.transaction(sql => changeState(sql, node.name, { from: 'forgetting', to: 'forgotten' }))
  }

  /** If a removal is undone, the content of its records is fetched like any other. */
  async #removedRecords({ name }: LostNode): Promise<void> {
    await this.#each<string>('', {
      page: 'SELECT id FROM removed_records WHERE id > $1 ORDER BY id LIMIT $2',
      change: `UPDATE removed_records r SET hold_id = NULL, root_id = NULL, fetch_id = NULL, status = 'queued',
          dag_size = 0, charge = 0
        FROM holds h WHERE r.id = ANY($1) AND h.id = r.hold_id AND h.node = $2`,
      params: [name],
    })
  }

  async #fetches({ name }: LostNode): Promise<void> {
    await this.#each<number>(0, {
      page: 'SELECT id FROM fetches WHERE id > $1 ORDER BY id LIMIT $2',
      change: `DELETE FROM fetches f WHERE id = ANY($1) AND node = $2
        AND NOT EXISTS (SELECT 1 FROM records r WHERE r.fetch_id = f.id)`,
      params: [name],
    })
  }

  async #holdRows({ name }: LostNode): Promise<void> {
    for (let after = ''; ; ) {
      const page = await this.#database.reading.all<{ id: string; isLost: boolean }>(
        `SELECT id, node = $2 AS "isLost" FROM holds WHERE id > $1 ORDER BY id LIMIT $3`,
        [after, name, STEP],
      )
      const ids = page.filter(({ isLost }) => isLost).map(({ id }) => id)
      if (ids.length > 0) {
        await this.#database.transaction(async sql => {
          const locked = await sql.all<{ id: string }>(
            'SELECT id FROM holds WHERE id = ANY($1) ORDER BY id FOR UPDATE',
            [ids],
          )
          const held = locked.map(({ id }) => id)
          await this.#holds.void(sql, held)
          await sql.run('DELETE FROM holds WHERE id = ANY($1) AND node = $2', [held, name])
        })
      }
      after = page.at(-1)?.id ?? ''
      if (page.length < STEP) return
    }
  }

  async #placements({ number }: LostNode): Promise<void> {
    await this.#each<number>(0, {
      page: 'SELECT id FROM placements WHERE id > $1 ORDER BY id LIMIT $2',
      change: 'DELETE FROM placements WHERE id = ANY($1) AND backend_id BETWEEN $2 AND $3',
      params: [number * BACKENDS_OF_NODE, number * BACKENDS_OF_NODE + LAST_BACKEND],
    })
  }

  async #roots({ number }: LostNode): Promise<void> {
    for (let after = 0; ; ) {
      const page = await this.#database.reading.all<{ id: number; isLost: boolean }>(
        `SELECT id, ${NODE_NUMBER} = $2 AS "isLost" FROM roots WHERE id > $1 ORDER BY id LIMIT $3`,
        [after, number, STEP],
      )
      const ids = page.filter(({ isLost }) => isLost).map(({ id }) => id)
      if (ids.length > 0) await this.#database.transaction(sql => dropUnheld(sql, ids))
      after = page.at(-1)?.id ?? 0
      if (page.length < STEP) return
    }
  }

  /** Runs `change` for all rows of a table, in the order of their ids. */
  async #each<Id extends string | number>(
    first: Id,
    { page, change, params }: { page: string; change: string; params: ReadonlyArray<string | number> },
  ): Promise<void> {
    for (let after = first; ; ) {
      const rows = await this.#database.reading.all<{ id: Id }>(page, [after, STEP])
      const ids = rows.map(({ id }) => id)
      if (ids.length > 0) await this.#database.command(change, [ids, ...params])
      after = ids.at(-1) ?? after
      if (ids.length < STEP) return
    }
  }
}
