import type { Copies } from '../../../src/catalogue/copies.ts'
import type { OwnedDag } from '../../../src/ledger/whole-dag.ts'
import type { Sql } from '../database/sql.ts'
import { NODE_NUMBER } from '../holds/backends.ts'
import type { ContentParts } from '../records/content-change.ts'
import { moveRecords } from '../records/moved-records.ts'
import { COPY_RUN, contentParams, FOLLOW_COPIES, ROOTS_OF_CONTENT, rootsOf } from './copy-rows.ts'

/** Contents that one transaction moves. */
const STEP = 100
/** Copies that one statement looks at. A node may have millions, none of which moves. */
const LOOKED_AT = 2_000
const COPIES = `
  SELECT id FROM copies WHERE node = $1 AND id > $2
    AND EXISTS (SELECT 1 FROM nodes WHERE state IN ('forgetting', 'retiring')) ORDER BY id LIMIT ${LOOKED_AT}`
/**
 * Some copies of this node, each with the root of a node that ends and that records may still name. The content of a
 * lost node moves to any copy. That of a node that retires moves when all wanted copies are made, compared and sound.
 */
const PROMOTED = `
  SELECT copies.id, roots.id AS "from", hold_id AS "holdId", multihash, codec, owner FROM copies
  JOIN LATERAL (${rootsOf('copies')}) AS roots ON TRUE
  JOIN nodes ON nodes.number = roots.${NODE_NUMBER} AND nodes.state IN ('forgetting', 'retiring')
  WHERE copies.node = $1 AND copies.id = ANY($2) AND copies.state IN ('have', 'surplus', 'going')
    AND EXISTS (SELECT 1 FROM nodes WHERE state IN ('forgetting', 'retiring'))
    AND (nodes.state = 'forgetting' OR (SELECT state FROM nodes WHERE name = $1) = 'active' AND NOT EXISTS (
      SELECT 1 FROM copies AS other JOIN nodes AS keeper ON keeper.name = other.node AND keeper.state = 'active'
      WHERE other.multihash = copies.multihash AND other.codec = copies.codec AND other.owner = copies.owner
        AND (other.state IN ('wanted', 'damaged') OR other.run IS DISTINCT FROM ${COPY_RUN('keeper.run')})))
  ORDER BY copies.id LIMIT $3`
/** The roots of this node, each with the hold of a record. */
const OWN_ROOTS = `
  SELECT id, COALESCE(
    (SELECT hold_id FROM records WHERE root_id = kept.id AND hold_id IS NOT NULL ORDER BY id LIMIT 1),
    (SELECT hold_id FROM removed_records WHERE root_id = kept.id AND hold_id IS NOT NULL ORDER BY id LIMIT 1)) AS "holdId"
  FROM (${ROOTS_OF_CONTENT}) AS kept WHERE ${NODE_NUMBER} = (SELECT number FROM nodes WHERE name = $4)`

interface Promoted extends OwnedDag {
  id: number
  /** The root on the lost node. */
  from: number
  holdId: string
}

/** Moves records to the copies of this node. */
export class MovedCopies {
  readonly #parts: ContentParts
  readonly #sql: Sql
  /** The last copy that the unfinished promotion has seen. */
  #promoted = 0
  /** Copies that were taken, and are not settled yet. */
  readonly #taken: number[] = []
  #settling: Promise<unknown> = Promise.resolve()

  constructor(parts: ContentParts) {
    this.#parts = parts
    this.#sql = parts.database.reading
  }

  async promote(): Promise<boolean> {
    const looked = await this.#sql.all<{ id: number }>(COPIES, [this.#node, this.#promoted])
    const found = looked.length === 0 ? [] : await this.#promote(looked.map(({ id }) => id))
    if (found.length === STEP) this.#promoted = found.at(-1)?.id ?? 0
    else this.#promoted = looked.length < LOOKED_AT ? 0 : (looked.at(-1)?.id ?? 0)
    return this.#promoted !== 0
  }

  async #promote(ids: readonly number[]): Promise<Promoted[]> {
    const { ledger } = this.#parts
    const find = () => this.#sql.all<Promoted>(PROMOTED, [this.#node, ids, STEP])
    const seen = await find()
    if (seen.length === 0) return seen
    // A walk may not have decided yet how many copies the content needs without the node.
    await this.#parts.database.transaction(sql => sql.all(FOLLOW_COPIES, contentParams(seen)))
    const found = await find()
    const moved = found.flatMap(({ from, holdId }) => {
      const dag = ledger.rootHeldBy(holdId)
      if (dag === undefined || ledger.isLostFrom(dag.id)) return []
      return [{ from, backendId: dag.backendId, stagedRootId: null, dag }]
    })
    if (moved.length > 0) await moveRecords(this.#parts, moved)
    return seen
  }

  /** Gives this node's own records their content back, which its directory lacked. Returns whether there were any. */
  async takeBack(copy: OwnedDag, { backendId, stagedRootId, dag }: Parameters<Copies['take']>[1]): Promise<boolean> {
    const own = await this.#sql.all<{ id: number; holdId: string | null }>(OWN_ROOTS, [
      copy.multihash,
      copy.codec,
      copy.owner,
      this.#node,
    ])
    const lost = own.filter(({ holdId }) => holdId !== null && this.#parts.ledger.rootHeldBy(holdId) === undefined)
    for (const [i, { id: from }] of lost.entries()) {
      await moveRecords(this.#parts, [{ from, backendId, stagedRootId: i === 0 ? stagedRootId : null, dag }])
    }
    return lost.length > 0
  }

  /**
   * Promotes a copy that was taken, stores the end of its hold in the ledger, and releases void holds. Copies that were
   * taken while the last call ran share the statements.
   */
  settleTaken(id: number): Promise<unknown> {
    this.#taken.push(id)
    const settle = async (): Promise<void> => {
      const some = this.#taken.splice(0)
      if (some.length === 0) return
      await this.#promote(some)
      await this.#parts.holds.releaseVoid()
    }
    this.#settling = this.#settling.then(settle, settle)
    return this.#settling
  }

  get #node(): string {
    return this.#parts.holds.node
  }
}
