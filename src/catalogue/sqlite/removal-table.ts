import type { DagIdentity } from '../../ipld/cid.ts'
import type { Database, Statement } from '../../storage/database.ts'

/** Which records of an account are to go. */
export interface Removal {
  accountId: string
  dag: DagIdentity
  /** Null for all clusters. */
  clusterId: string | null
  /** Records made later stay. */
  createdBy: number
}

interface RemovalRow {
  id: number
  accountId: string
  codec: number
  multihash: Uint8Array
  clusterId: string | null
  createdBy: number
}

/** The rows of `removals`: a removal of many records takes many transactions, and is noted with the first. */
export class RemovalTable {
  readonly #insert: Statement<[string, number, Uint8Array, string | null, number], unknown>
  readonly #first: Statement<[], RemovalRow>
  readonly #delete: Statement<[number], unknown>

  constructor(db: Database) {
    this.#insert = db.prepare(`
      INSERT INTO removals (account_id, codec, multihash, cluster_id, created_by) VALUES (?, ?, ?, ?, ?)`)
    this.#first = db.prepare(`
      SELECT id, account_id AS accountId, codec, multihash, cluster_id AS clusterId, created_by AS createdBy
      FROM removals ORDER BY id LIMIT 1`)
    this.#delete = db.prepare('DELETE FROM removals WHERE id = ?')
  }

  /** Returns its id. */
  insert({ accountId, dag, clusterId, createdBy }: Removal): number {
    return Number(this.#insert.run(accountId, dag.codec, dag.multihash, clusterId, createdBy).lastInsertRowid)
  }

  /** The oldest there is. */
  first(): (Removal & { id: number }) | null {
    const row = this.#first.get()
    if (row === undefined) return null
    const { codec, multihash, ...rest } = row
    return { ...rest, dag: { codec, multihash } }
  }

  delete(id: number): void {
    this.#delete.run(id)
  }
}
