import type { Database, Statement } from '../storage/database.ts'
import type { RootTable } from './root-table.ts'
import type { WholeDag } from './whole-dag.ts'

/** How an end that never comes is stored, so that the latest end is one look into an index. */
const NEVER = Number.MAX_SAFE_INTEGER

/** Where a hold stands among those of its root. */
export interface HoldPlace {
  ends: number
  id: string
}

/**
 * What keeps roots: a root stays as long as a hold is on it, and is dropped with its last one. Who holds it and why
 * is not known here. Each method is part of a transaction that the caller runs.
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

  /** Holds a root until an instant, in milliseconds since the epoch; null for as long as it is not released. */
  place(id: string, rootId: number, ends: number | null): void {
    this.#insert.run(id, rootId, ends ?? NEVER)
    this.#follow(rootId)
  }

  has(id: string): boolean {
    return this.rootOf(id) !== null
  }

  /** The root that a hold is on; null if there is no such hold. */
  rootOf(id: string): number | null {
    return this.#find.get(id)?.rootId ?? null
  }

  /** Has a hold be on a root, whether it is already, is on another one, or is not there yet. */
  hold(id: string, rootId: number, ends: number | null): void {
    const heldRoot = this.rootOf(id)
    if (heldRoot === rootId) return
    if (heldRoot !== null) this.release(id)
    this.place(id, rootId, ends)
  }

  /** The next holds by id, to go through all of them. */
  after(id: string, limit: number): Array<{ id: string; rootId: number }> {
    return this.#after.all(id, limit)
  }

  /** The next holds of a root, by their ends, to go through all of them. */
  ofRoot(rootId: number, after: HoldPlace, limit: number): HoldPlace[] {
    return this.#ofRoot.all(rootId, after.ends, after.id, limit)
  }

  isHeld(rootId: number): boolean {
    return this.#latest.get(rootId) !== undefined
  }

  /** Lets go; the root is dropped if that was the last hold on it. Returns whether there was such a hold. */
  release(id: string): boolean {
    const held = this.#find.get(id)
    if (held === undefined) return false
    this.#delete.run(id)
    this.#follow(held.rootId)
    return true
  }

  /**
   * Has a staged root become the complete root of a DAG, unless there is one already: then the staged one is given
   * up. The caller holds the result in the same transaction. Returns the id of the complete root, or null if nothing
   * was staged and there is none.
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
