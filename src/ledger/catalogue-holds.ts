import type { DagIdentity } from '../ipld/cid.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import type { BlockTable } from './block-table.ts'
import type { Holds } from './holds.ts'
import type { RootRow, RootTable } from './root-table.ts'
import type { RootFile, WholeDag } from './whole-dag.ts'

/** A hold to place on a DAG that is completely stored. */
export interface WantedHold {
  id: string
  backendId: number
  /** Staged root of the DAG; null if a complete root must already exist. */
  stagedRootId: number | null
  dag: WholeDag
  /** End in ms since the epoch; null if the hold lasts until it is released. */
  ends: number | null
  /** True if the external backend already has the DAG; undefined if this is unknown. */
  isPlaced?: boolean
}

/**
 * The ledger as an external catalogue uses it. Holds are placed before the catalogue commits, and released after it
 * commits. After a crash, no hold is missing, but some may be unneeded. Each method that writes is one durable
 * transaction, and may be repeated.
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

  /** Returns the id of the complete root of each hold. If any root is missing, places no hold and returns null. */
  place(wanted: readonly WantedHold[]): Promise<number[] | null> {
    return this.#write(() => {
      const isMissing = ({ backendId, stagedRootId, dag }: WantedHold) =>
        stagedRootId === null && this.#roots.find(backendId, dag) === undefined
      // A root that is staged for one hold also serves the other holds on the same DAG.
      const staged = new Set(wanted.flatMap(hold => (hold.stagedRootId === null ? [] : keyOf(hold))))
      if (wanted.some(hold => isMissing(hold) && !staged.has(keyOf(hold)))) return null
      const inOrder = wanted.toSorted((a, b) => Number(a.stagedRootId === null) - Number(b.stagedRootId === null))
      const rootOf = new Map(inOrder.map(hold => [hold.id, this.#hold(hold)]))
      return wanted.map(({ id }) => rootOf.get(id) ?? 0)
    })
  }

  stage(id: string, backendId: number, now: number): Promise<number> {
    return this.#write(() => {
      const rootId = this.#roots.stage(backendId, now)
      this.#holds.place(id, rootId, null)
      return rootId
    })
  }

  keep(id: string, stagedRootId: number): Promise<void> {
    return this.#write(() => this.#holds.hold(id, stagedRootId, null))
  }

  /** Sets the ends of holds, in ms since the epoch; null for holds that last until they are released. */
  setEnds(ends: ReadonlyArray<{ id: string; ends: number | null }>): Promise<void> {
    return this.#write(() => {
      for (const hold of ends) this.#holds.setEnds(hold.id, hold.ends)
    })
  }

  /** Releases holds. Returns the complete DAGs that have no hold any more. */
  release(ids: readonly string[]): Promise<DagIdentity[]> {
    return this.#write(() =>
      ids.flatMap(id => {
        const rootId = this.#holds.rootOf(id)
        const root = rootId === null ? undefined : this.#roots.get(rootId)
        this.#holds.release(id)
        // A staged root has no multihash yet.
        const isWhole = root?.multihash instanceof Uint8Array
        return root === undefined || !isWhole || this.#holds.isHeld(root.id) ? [] : [root]
      }),
    )
  }

  /** Does nothing for complete roots. */
  abandon(stagedRootIds: readonly number[]): Promise<void> {
    return this.#write(() => {
      for (const id of stagedRootIds) this.#roots.abandon(id)
    })
  }

  /** Drops the complete roots that have no hold. */
  drop(rootIds: readonly number[]): Promise<void> {
    return this.#write(() => {
      for (const id of rootIds) if (!this.#holds.isHeld(id)) this.#roots.drop(id)
    })
  }

  find(backendId: number, dag: DagIdentity): RootRow | undefined {
    return this.#roots.find(backendId, dag)
  }

  /**
   * Stores since when the external backend has had the DAG, unless a time is stored. Null means that the backend does
   * not have the DAG.
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

  rootOf(id: string): number | null {
    return this.#holds.rootOf(id)
  }

  /** Returns whether a hold keeps the complete root of a DAG. */
  keeps(id: string, backendId: number, dag: DagIdentity): boolean {
    return this.#holds.keeps(id, backendId, dag)
  }

  isLostFrom(rootId: number): boolean {
    return this.#blocks.isLostFrom(rootId)
  }

  holdsAfter(id: string, limit: number): string[] {
    return this.#holds.after(id, limit).map(hold => hold.id)
  }

  /** Returns complete roots in the order of their ids. */
  rootsAfter(id: number, limit: number): Array<DagIdentity & { id: number; isHeld: 0 | 1 }> {
    return this.#roots.completeAfter(id, limit)
  }

  files(rootId: number, offset: number, limit: number): RootFile[] {
    return this.#roots.files(rootId, offset, limit)
  }

  #hold({ id, backendId, stagedRootId, dag, ends, isPlaced }: WantedHold): number {
    const rootId = this.#holds.complete(backendId, stagedRootId, dag)?.id ?? 0
    // The cluster has unpinned the DAG but the local hold remains, so the blocks of the DAG must stay on disk.
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
