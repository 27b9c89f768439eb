import type { DagIdentity } from '../ipld/cid.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import type { BlockTable } from './block-table.ts'
import type { Holds } from './holds.ts'
import type { RootRow, RootTable } from './root-table.ts'
import type { RootFile, WholeDag } from './whole-dag.ts'

/** A hold to place on a whole DAG. */
export interface WantedHold {
  id: string
  backendId: number
  /** The staged root of the DAG; null if a complete root must exist already. */
  stagedRootId: number | null
  dag: WholeDag
  /** Its end in milliseconds since the epoch; null until it is released. */
  ends: number | null
  /** True once its external backend has the DAG; undefined if unknown. */
  isPlaced?: boolean
}

/**
 * The ledger as an external catalogue uses it. Holds are placed before the catalogue commits and released after it, so
 * the ledger may hold too much, but never too little. Each method that writes is one transaction, durable when its
 * promise resolves, and may be repeated.
 */
export class CatalogueHolds {
  readonly #roots: RootTable
  readonly #holds: Holds
  readonly #blocks: BlockTable
  readonly #queue: WriteQueue

  constructor(parts: { roots: RootTable; holds: Holds; blocks: BlockTable; queue: WriteQueue }) {
    this.#roots = parts.roots
    this.#holds = parts.holds
    this.#blocks = parts.blocks
    this.#queue = parts.queue
  }

  /** Places holds and returns the complete root of each. If one root is missing, places none and returns null. */
  place(wanted: readonly WantedHold[]): Promise<number[] | null> {
    return this.#write(() => {
      const isMissing = ({ backendId, stagedRootId, dag }: WantedHold) =>
        stagedRootId === null && this.#roots.find(backendId, dag) === undefined
      // A root staged for one hold serves the others of the same DAG.
      const staged = new Set(wanted.flatMap(hold => (hold.stagedRootId === null ? [] : keyOf(hold))))
      if (wanted.some(hold => isMissing(hold) && !staged.has(keyOf(hold)))) return null
      const inOrder = wanted.toSorted((a, b) => Number(a.stagedRootId === null) - Number(b.stagedRootId === null))
      const rootOf = new Map(inOrder.map(hold => [hold.id, this.#hold(hold)]))
      return wanted.map(({ id }) => rootOf.get(id) ?? 0)
    })
  }

  /** Creates a staged root with a hold. Returns the id of the root. */
  stage(id: string, backendId: number, now: number): Promise<number> {
    return this.#write(() => {
      const rootId = this.#roots.stage(backendId, now)
      this.#holds.place(id, rootId, null)
      return rootId
    })
  }

  /** Holds a root that is being staged. */
  keep(id: string, stagedRootId: number): Promise<void> {
    return this.#write(() => this.#holds.hold(id, stagedRootId, null))
  }

  /** Releases holds. Returns the whole DAGs without any hold left. */
  release(ids: readonly string[]): Promise<DagIdentity[]> {
    return this.#write(() =>
      ids.flatMap(id => {
        const rootId = this.#holds.rootOf(id)
        const root = rootId === null ? undefined : this.#roots.get(rootId)
        this.#holds.release(id)
        // A root that is being staged has no identity yet.
        const isWhole = root?.multihash instanceof Uint8Array
        return root === undefined || !isWhole || this.#holds.isHeld(root.id) ? [] : [root]
      }),
    )
  }

  /** Abandons staged roots; complete roots stay. */
  abandon(stagedRootIds: readonly number[]): Promise<void> {
    return this.#write(() => {
      for (const id of stagedRootIds) this.#roots.abandon(id)
    })
  }

  /** Drops complete roots without holds. */
  drop(rootIds: readonly number[]): Promise<void> {
    return this.#write(() => {
      for (const id of rootIds) if (!this.#holds.isHeld(id)) this.#roots.drop(id)
    })
  }

  /** Returns the complete root of a DAG on a backend. */
  find(backendId: number, dag: DagIdentity): RootRow | undefined {
    return this.#roots.find(backendId, dag)
  }

  /**
   * Stores the time since which the external backend has had a DAG, or null if it does not have it. A stored time
   * stays.
   */
  async setPlaced(backendId: number, dag: DagIdentity, at: number | null): Promise<void> {
    const isSo = ({ id }: RootRow): boolean => this.#roots.isPlaced(id) === (at !== null)
    const known = this.#roots.find(backendId, dag)
    if (known === undefined || isSo(known)) return
    await this.#write(() => {
      const root = this.#roots.find(backendId, dag)
      if (root !== undefined && !isSo(root)) this.#roots.setPlaced(root.id, at)
    })
  }

  /** Returns the root of a hold; null if there is no such hold. */
  rootOf(id: string): number | null {
    return this.#holds.rootOf(id)
  }

  isHeld(rootId: number): boolean {
    return this.#holds.isHeld(rootId)
  }

  /** Returns true if one of the blocks of the root is lost. */
  isLostFrom(rootId: number): boolean {
    return this.#blocks.isLostFrom(rootId)
  }

  /** Returns the next holds by id. */
  holdsAfter(id: string, limit: number): string[] {
    return this.#holds.after(id, limit).map(hold => hold.id)
  }

  /** Returns the next complete roots by id. */
  rootsAfter(id: number, limit: number): Array<DagIdentity & { id: number }> {
    return this.#roots.completeAfter(id, limit)
  }

  /** Returns a page of a root's files. */
  files(rootId: number, offset: number, limit: number): RootFile[] {
    return this.#roots.files(rootId, offset, limit)
  }

  #hold({ id, backendId, stagedRootId, dag, ends, isPlaced }: WantedHold): number {
    const rootId = this.#holds.complete(backendId, stagedRootId, dag) ?? this.#roots.find(backendId, dag)?.id ?? 0
    // The cluster has unpinned the DAG but the local hold remains, so its blocks must stay on disk.
    if (isPlaced === false && this.#roots.isPlaced(rootId)) this.#roots.setPlaced(rootId, null)
    this.#holds.hold(id, rootId, ends)
    return rootId
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#queue.run(work, { durable: true })
  }
}

function keyOf({ backendId, dag }: WantedHold): string {
  return `${backendId} ${dag.codec} ${Buffer.from(dag.multihash).toString('hex')}`
}
