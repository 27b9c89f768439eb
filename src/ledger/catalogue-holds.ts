import type { DagIdentity } from '../ipld/cid.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import type { BlockTable } from './block-table.ts'
import type { Holds } from './holds.ts'
import type { RootRow, RootTable } from './root-table.ts'
import type { RootFile, WholeDag } from './whole-dag.ts'

/** A hold on a DAG that is whole. */
export interface WantedHold {
  id: string
  backendId: number
  /** The staged root that has it, or null if a complete one must be there already. */
  stagedRootId: number | null
  dag: WholeDag
  /** When it ends, in milliseconds since the epoch; null for as long as it is not released. */
  ends: number | null
  /** Whether its backend, if that is elsewhere, is known to have it; undefined where that is not asked. */
  isPlaced?: boolean
}

/**
 * The ledger for a catalogue that is kept elsewhere: it is told what to hold before the catalogue commits, and what to
 * let go of afterwards, so it may hold too much, and never too little. Each method that changes something is one
 * transaction, durable when its promise resolves, and may be repeated.
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

  /** Returns the complete root of each; null, and nothing is placed, where one of them is not here. */
  place(wanted: readonly WantedHold[]): Promise<number[] | null> {
    return this.#write(() => {
      const isMissing = ({ backendId, stagedRootId, dag }: WantedHold) =>
        stagedRootId === null && this.#roots.find(backendId, dag) === undefined
      // What one of them has staged is there for the others.
      const staged = new Set(wanted.flatMap(hold => (hold.stagedRootId === null ? [] : keyOf(hold))))
      if (wanted.some(hold => isMissing(hold) && !staged.has(keyOf(hold)))) return null
      const inOrder = wanted.toSorted((a, b) => Number(a.stagedRootId === null) - Number(b.stagedRootId === null))
      const rootOf = new Map(inOrder.map(hold => [hold.id, this.#hold(hold)]))
      return wanted.map(({ id }) => rootOf.get(id) ?? 0)
    })
  }

  /** Starts a staged root that a hold keeps. Returns its id. */
  stage(id: string, backendId: number, now: number): Promise<number> {
    return this.#write(() => {
      const rootId = this.#roots.stage(backendId, now)
      this.#holds.place(id, rootId, null)
      return rootId
    })
  }

  /** Keeps a root that is being staged. */
  keep(id: string, stagedRootId: number): Promise<void> {
    return this.#write(() => this.#holds.hold(id, stagedRootId, null))
  }

  /** Returns the DAGs that were whole and that nothing holds any more. */
  release(ids: readonly string[]): Promise<DagIdentity[]> {
    return this.#write(() =>
      ids.flatMap(id => {
        const rootId = this.#holds.rootOf(id)
        const root = rootId === null ? undefined : this.#roots.get(rootId)
        this.#holds.release(id)
        // What was being staged has no identity yet.
        const isWhole = root?.multihash instanceof Uint8Array
        return root === undefined || !isWhole || this.#holds.isHeld(root.id) ? [] : [root]
      }),
    )
  }

  /** Gives up what was staged; what is complete stays. */
  abandon(stagedRootIds: readonly number[]): Promise<void> {
    return this.#write(() => {
      for (const id of stagedRootIds) this.#roots.abandon(id)
    })
  }

  /** Gives up complete roots that nothing holds. */
  drop(rootIds: readonly number[]): Promise<void> {
    return this.#write(() => {
      for (const id of rootIds) if (!this.#holds.isHeld(id)) this.#roots.drop(id)
    })
  }

  /** The complete root of a DAG on a backend. */
  find(backendId: number, dag: DagIdentity): RootRow | undefined {
    return this.#roots.find(backendId, dag)
  }

  /**
   * Notes since when the backend of a DAG, which is elsewhere, has been seen to have it; null if it is not. Where the one or
   * the other is noted already, that stays.
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

  /** The root that a hold is on; null if there is no such hold. */
  rootOf(id: string): number | null {
    return this.#holds.rootOf(id)
  }

  isHeld(rootId: number): boolean {
    return this.#holds.isHeld(rootId)
  }

  /** Whether a block that the root needs was found lost. */
  isLostFrom(rootId: number): boolean {
    return this.#blocks.isLostFrom(rootId)
  }

  /** The next holds by id, to go through all of them. */
  holdsAfter(id: string, limit: number): string[] {
    return this.#holds.after(id, limit).map(hold => hold.id)
  }

  /** The next complete roots by id, to go through all of them. */
  rootsAfter(id: number, limit: number): Array<DagIdentity & { id: number }> {
    return this.#roots.completeAfter(id, limit)
  }

  /** A page of a root's files. */
  files(rootId: number, offset: number, limit: number): RootFile[] {
    return this.#roots.files(rootId, offset, limit)
  }

  #hold({ id, backendId, stagedRootId, dag, ends, isPlaced }: WantedHold): number {
    const rootId = this.#holds.complete(backendId, stagedRootId, dag) ?? this.#roots.find(backendId, dag)?.id ?? 0
    // What was let go of there, and not yet here, is needed here again.
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
