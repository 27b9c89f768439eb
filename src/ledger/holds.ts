import type { Database, Statement } from '../storage/database.ts'
import type { RootTable } from './root-table.ts'
import type { WholeDag } from './whole-dag.ts'

/** Stored end of a hold without an end, so that one index lookup finds the latest end. */
const NEVER = Number.MAX_SAFE_INTEGER

/** Position of a hold among the holds of its root. */
export interface HoldPlace {
  ends: number
  id: string
}

/**
 * Holds on roots. A root is kept while it has a hold, and dropped with its last one. The owner of a hold is not
 * recorded. Each method is part of the caller's transaction.
 */
export class Holds {
  readonly #roots: RootTable
  readonly #insert: Statement<[string, number, number], unknown>
  readonly #find: Statement<[string], { rootId: number }>
  readonly #delete: Statement<[string], unknown>
  readonly #latest: Statement<[number], { ends: number }>
  readonly #ofRoot: Statement<[number, number, string, number], HoldPlace>
  readonly #after: Statement<[string, number], { id: string; rootId: number }>

  constructor(db: Database, roots: RootTable) {
    this.#roots = roots
    this.#insert = db.prepare('INSERT INTO holds (id, root_id, ends) VALUES (?, ?, ?)')
    this.#find = db.prepare('SELECT root_id AS rootId FROM holds WHERE id = ?')
    this.#delete = db.prepare('DELETE FROM holds WHERE id = ?')
    this.#after = db.prepare('SELECT id, root_id AS rootId FROM holds WHERE id > ? ORDER BY id LIMIT ?')
    this.#ofRoot = db.prepare(
      'SELECT ends, id FROM holds WHERE root_id = ? AND (ends, id) > (?, ?) ORDER BY ends, id LIMIT ?',
    )
    this.#latest = db.prepare('SELECT ends FROM holds WHERE root_id = ? ORDER BY ends DESC LIMIT 1')
  }

  /** Holds a root until `ends`, in milliseconds since the epoch; null until it is released. */
  place(id: string, rootId: number, ends: number | null): void {
    this.#insert.run(id, rootId, ends ?? NEVER)
    this.#follow(rootId)
  }

  has(id: string): boolean {
    return this.rootOf(id) !== null
  }

  /** Returns the root of a hold; null if there is no such hold. */
  rootOf(id: string): number | null {
    return this.#find.get(id)?.rootId ?? null
  }

  /** Places a hold on a root, or moves it to that root. Does nothing if it is on the root already. */
  hold(id: string, rootId: number, ends: number | null): void {
    const heldRoot = this.rootOf(id)
    if (heldRoot === rootId) return
    if (heldRoot !== null) this.release(id)
    this.place(id, rootId, ends)
  }

  /** Returns the next holds by id. */
  after(id: string, limit: number): Array<{ id: string; rootId: number }> {
    return this.#after.all(id, limit)
  }

  /** Returns the next holds of a root by end. */
  ofRoot(rootId: number, after: HoldPlace, limit: number): HoldPlace[] {
    return this.#ofRoot.all(rootId, after.ends, after.id, limit)
  }

  isHeld(rootId: number): boolean {
    return this.#latest.get(rootId) !== undefined
  }

  /** Releases a hold, and drops the root with its last hold. Returns false if there is no such hold. */
  release(id: string): boolean {
    const held = this.#find.get(id)
    if (held === undefined) return false
    this.#delete.run(id)
    this.#follow(held.rootId)
    return true
  }

  /**
   * Turns a staged root into the complete root of a DAG. If the DAG has a complete root already, abandons the staged
   * one. The caller places a hold on the result in the same transaction. Returns the id of the complete root, or null
   * if nothing was staged and there is none.
   */
  complete(backendId: number, stagedRootId: number, dag: WholeDag): number
  complete(backendId: number, stagedRootId: number | null, dag: WholeDag): number | null
  complete(backendId: number, stagedRootId: number | null, dag: WholeDag): number | null {
    const complete = this.#roots.find(backendId, dag)
    if (complete !== undefined) {
      if (stagedRootId !== null) this.#roots.abandon(stagedRootId)
      return complete.id
    }
    if (stagedRootId !== null) this.#roots.complete(stagedRootId, dag)
    return stagedRootId
  }

  #follow(rootId: number): void {
    const latest = this.#latest.get(rootId)
    if (latest === undefined) this.#roots.drop(rootId)
    else this.#roots.setLiveUntil(rootId, latest.ends === NEVER ? null : latest.ends)
  }
}
