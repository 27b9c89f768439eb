import type { DagIdentity } from '../ipld/cid.ts'
import type { Database } from '../storage/database.ts'
import { rowsOfTurn } from '../storage/rows-of-turn.ts'
import { WithStatements } from '../storage/with-statements.ts'
import type { RootTable } from './root-table.ts'
import type { WholeDag } from './whole-dag.ts'

/** Stored end of a hold that never ends. A number allows one index lookup to find the latest end. */
const NEVER = Number.MAX_SAFE_INTEGER

/** A DAG that is stored completely, with the id of its root. */
type CompleteRoot = WholeDag & { id: number }

/** End of a hold that keeps a root, but lets nobody read it. */
export const MUTED = 0

/** Position of a hold among the holds of the same root. */
export interface HoldPlace {
  ends: number
  id: string
}

/**
 * Holds on roots, without their owners. A root is dropped when its last hold is released. Each method runs within the
 * caller's transaction.
 */
export class Holds extends WithStatements {
  readonly #roots: RootTable
  readonly #insert = this.db.prepare<[string, number, number]>('INSERT INTO holds (id, root_id, ends) VALUES (?, ?, ?)')
  readonly #find = this.db.prepare<[string], { rootId: number }>('SELECT root_id AS rootId FROM holds WHERE id = ?')
  // Finds the root by its id. Roots with consecutive holds are close together by id, but far apart by multihash.
  readonly #keeps = this.db.prepare<[string, number, number, Uint8Array]>(`
    SELECT 1 FROM holds h CROSS JOIN roots r NOT INDEXED ON r.id = h.root_id
    WHERE h.id = ? AND r.state = 'complete' AND r.backend_id = ? AND r.codec = ? AND r.multihash = ?`)
  readonly #setEnds = this.db.prepare<[number, string]>('UPDATE holds SET ends = ? WHERE id = ?')
  readonly #delete = this.db.prepare<[string]>('DELETE FROM holds WHERE id = ?')
  readonly #isMuted = this.db.prepare<[string]>(`SELECT 1 FROM holds WHERE id = ? AND ends = ${MUTED}`)
  readonly #latest = this.db.prepare<[number], { ends: number }>(`
    SELECT ends FROM holds WHERE root_id = ? ORDER BY ends DESC LIMIT 1`)
  readonly #ofRoot = this.db.prepare<[number, number, string, number], HoldPlace>(`
    SELECT ends, id FROM holds WHERE root_id = ? AND (ends, id) > (?, ?) ORDER BY ends, id LIMIT ?`)
  readonly #after = this.db.prepare<[string, number], { id: string; rootId: number }>(`
    SELECT id, root_id AS rootId FROM holds WHERE id > ? ORDER BY id LIMIT ?`)

  constructor(db: Database, roots: RootTable) {
    super(db)
    this.#roots = roots
  }

  /** @param ends in ms since the epoch; null for a hold that lasts until it is released */
  place(id: string, rootId: number, ends: number | null): void {
    this.#insert.run(id, rootId, ends ?? NEVER)
    // No hold ends later than one that never ends, so the latest end needs no query.
    if (ends === null) this.#roots.setLiveUntil(rootId, null)
    else this.#follow(rootId)
  }

  has(id: string): boolean {
    return this.rootOf(id) !== null
  }

  rootOf(id: string): number | null {
    return this.#find.get(id)?.rootId ?? null
  }

  isMuted(id: string): boolean {
    return this.#isMuted.get(id) !== undefined
  }

  /** Returns whether a hold keeps the complete root of a DAG. */
  keeps(id: string, backendId: number, { codec, multihash }: DagIdentity): boolean {
    return this.#keeps.get(id, backendId, codec, multihash) !== undefined
  }

  /** Places a hold on a root, or moves an existing hold to this root. */
  hold(id: string, rootId: number, ends: number | null): void {
    const heldRoot = this.rootOf(id)
    if (heldRoot === rootId) return
    if (heldRoot !== null) this.release(id)
    this.place(id, rootId, ends)
  }

  /**
   * Sets the end of a hold, if the hold exists. A hold that has ended still keeps its root, but lets nobody read it.
   *
   * @param ends in ms since the epoch; null for a hold that lasts until it is released
   */
  setEnds(id: string, ends: number | null): void {
    const rootId = this.rootOf(id)
    if (rootId === null) return
    this.#setEnds.run(ends ?? NEVER, id)
    this.#follow(rootId)
  }

  after(id: string, limit: number): Array<{ id: string; rootId: number }> {
    return rowsOfTurn(this.#after.iterate(id, limit))
  }

  /** Returns holds of a root after the position `after`, in the order of their ends. */
  ofRoot(rootId: number, after: HoldPlace, limit: number): HoldPlace[] {
    return this.#ofRoot.all(rootId, after.ends, after.id, limit)
  }

  isHeld(rootId: number): boolean {
    return this.#latest.get(rootId) !== undefined
  }

  /** Releases a hold. If it was the last hold of the root, drops the root. Returns false if the hold does not exist. */
  release(id: string): boolean {
    const held = this.#find.get(id)
    if (held === undefined) return false
    this.#delete.run(id)
    this.#follow(held.rootId)
    return true
  }

  /**
   * Completes a staged root of a DAG. If its owner already has a complete root, abandons the staged root. The caller
   * places a hold on the result in the same transaction. Returns null if no root was staged and its owner has no
   * complete root.
   */
  complete(backendId: number, stagedRootId: number, dag: WholeDag): CompleteRoot
  complete(backendId: number, stagedRootId: number | null, dag: WholeDag): CompleteRoot | null
  complete(backendId: number, stagedRootId: number | null, dag: WholeDag): CompleteRoot | null {
    const complete = this.#roots.find(backendId, dag, dag.owner)
    if (complete !== undefined) {
      if (stagedRootId !== null) this.#roots.abandon(stagedRootId)
      return complete
    }
    if (stagedRootId === null) return null
    this.#roots.complete(stagedRootId, dag)
    return { ...dag, id: stagedRootId }
  }

  #follow(rootId: number): void {
    const latest = this.#latest.get(rootId)
    if (latest === undefined) this.#roots.drop(rootId)
    else this.#roots.setLiveUntil(rootId, latest.ends === NEVER ? null : latest.ends)
  }
}
