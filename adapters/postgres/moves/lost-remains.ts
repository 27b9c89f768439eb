import type { LostNode } from '../../../src/catalogue/lost-content.ts'
import { hasCopy } from '../copies/copy-rows.ts'
import type { Postgres } from '../database/postgres.ts'
import type { Sql } from '../database/sql.ts'
import { NODE_NUMBER } from '../holds/backends.ts'
import { deleteFiles } from '../holds/root-files.ts'
import type { SharedHolds } from '../holds/shared-holds.ts'
import { dropUnheld } from '../holds/shared-roots.ts'
import { changeState } from '../nodes/node-states.ts'

const STEP = 200
/** SQL condition: the hold of a record is on the node. */
const IS_HELD = '(SELECT node FROM holds WHERE holds.id = hold_id) = $2'
const LOCK_ACCOUNTS = `
  SELECT 1 FROM accounts WHERE id IN (SELECT account_id FROM removed_records WHERE id = ANY($1)) ORDER BY id FOR UPDATE`

/** Removes the rows of a lost node that belong to no record, such as its holds, fetches, offers, placements and roots. */
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

  /** Returns false if records of the node are left. An undo may have restored them behind the last pass. */
  async remove(node: LostNode): Promise<boolean> {
    await this.#removedRecords(node)
    if ((await this.#has('records', node)) || (await this.#has('removed_records', node))) return false
    await this.#fetches(node)
    await this.#offers(node)
    await this.#holdRows(node)
    await this.#copies(node)
    await this.#placements(node)
    await this.#roots(node)
    await deleteFiles(this.#database)
    await this.#database.transaction(sql => changeState(sql, node.name, { from: 'forgetting', to: 'forgotten' }))
    return true
  }

  /**
   * Takes the holds of a lost node from removed records, unless another node has a copy, which takes them over. If such
   * a removal is undone, the content is fetched like any other.
   */
  async #removedRecords({ name }: LostNode): Promise<void> {
    await this.#each<string>(
      '',
      { table: 'removed_records', isLost: `${IS_HELD} AND NOT ${hasCopy('removed_records')}`, of: name },
      async (sql, ids) => {
        // An undo reads these rows and restores them while it has the account.
        await sql.all(LOCK_ACCOUNTS, [ids])
        await sql.run(
          `UPDATE removed_records r SET hold_id = NULL, root_id = NULL, fetch_id = NULL, status = 'queued',
           dag_size = 0, charge = 0
         FROM holds h WHERE r.id = ANY($1) AND h.id = r.hold_id AND h.node = $2`,
          [ids, name],
        )
      },
    )
  }

  /** Returns whether a record still has a hold of the node. An undo would restore a removed one with it. */
  async #has(table: 'records' | 'removed_records', { name }: LostNode): Promise<boolean> {
    let has = false
    await this.#each<string>('', { table, isLost: IS_HELD, of: name }, async () => {
      has = true
    })
    return has
  }

  async #fetches({ name }: LostNode): Promise<void> {
    await this.#each<number>(0, { table: 'fetches', isLost: 'node = $2', of: name }, (sql, ids) =>
      sql.run(
        `DELETE FROM fetches f WHERE id = ANY($1) AND NOT EXISTS (SELECT 1 FROM records r WHERE r.fetch_id = f.id)`,
        [ids],
      ),
    )
  }

  /** Deletes the offers of a lost node, which nobody can take any more. */
  async #offers({ name }: LostNode): Promise<void> {
    const text = `DELETE FROM offers WHERE node = $1
      AND record_id = ANY (ARRAY(SELECT record_id FROM offers WHERE node = $1 ORDER BY record_id LIMIT $2))`
    while ((await this.#database.command(text, [name, STEP])) === STEP);
  }

  async #holdRows({ name }: LostNode): Promise<void> {
    await this.#each<string>('', { table: 'holds', isLost: 'node = $2', of: name }, async (sql, ids) => {
      await sql.all('SELECT 1 FROM holds WHERE id = ANY($1) ORDER BY id FOR UPDATE', [ids])
      await this.#holds.void(sql, ids)
      await sql.run('DELETE FROM holds WHERE id = ANY($1)', [ids])
    })
  }

  /** Deletes the copies on a lost node. When the node was given up, a walk began, which has found other nodes for them. */
  async #copies({ name }: LostNode): Promise<void> {
    await this.#each<number>(0, { table: 'copies', isLost: 'node = $2', of: name }, (sql, ids) =>
      sql.run('DELETE FROM copies WHERE id = ANY($1)', [ids]),
    )
  }

  async #placements({ number }: LostNode): Promise<void> {
    await this.#each<number>(0, { table: 'placements', isLost: `${NODE_NUMBER} = $2`, of: number }, (sql, ids) =>
      sql.run('DELETE FROM placements WHERE id = ANY($1)', [ids]),
    )
  }

  async #roots({ number }: LostNode): Promise<void> {
    await this.#each<number>(0, { table: 'roots', isLost: `${NODE_NUMBER} = $2`, of: number }, dropUnheld)
  }

  /**
   * Runs `change` for the rows of a lost node in a table, some in each transaction. No index finds them by their node,
   * so this reads the whole table by its ids. A row never changes its node.
   *
   * @param rows.isLost SQL condition for the rows of the node, which is `$2`
   */
  async #each<Id extends string | number>(
    first: Id,
    { table, isLost, of }: { table: string; isLost: string; of: string | number },
    change: (sql: Sql, ids: Id[]) => Promise<unknown>,
  ): Promise<void> {
    const text = `SELECT id, ${isLost} AS "isLost" FROM ${table} WHERE id > $1 ORDER BY id LIMIT $3`
    for (let after = first; ; ) {
      const page = await this.#database.reading.all<{ id: Id; isLost: boolean | null }>(text, [after, of, STEP])
      const ids = page.filter(one => one.isLost === true).map(({ id }) => id)
      if (ids.length > 0) await this.#database.transaction(sql => change(sql, ids))
      after = page.at(-1)?.id ?? after
      if (page.length < STEP) return
    }
  }
}
