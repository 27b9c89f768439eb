import type { DagIdentity } from '../ipld/cid.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import type { BlockTable } from './block-table.ts'
import type { NewBlock } from './blocks.ts'
import { isCatalogueHold } from './catalogue-node.ts'
import type { Claims } from './claims.ts'
import { type HoldPlace, type Holds, MUTED } from './holds.ts'
import { PUBLIC } from './possessor.ts'
import type { RootOwners } from './root-owners.ts'
import type { RootRow, RootTable } from './root-table.ts'
import type { OwnedDag, RootFile, WholeDag } from './whole-dag.ts'

/** A hold to place on a DAG that is completely stored. */
export interface WantedHold {
  id: string
  backendId: number
  /** Staged root of the DAG; null if `block` is given, or if a complete root must already exist. */
  stagedRootId: number | null
  /** The only block of the DAG, to store with the hold, and the time for its root. */
  block?: (NewBlock & { now: number }) | null
  dag: WholeDag
  /** End in ms since the epoch; null if the hold lasts until it is released. */
  ends: number | null
  /** True if the external backend already has the DAG; undefined if this is unknown. */
  isPlaced?: boolean
}

/** The complete root of a hold. */
export interface HeldRoot {
  rootId: number
  /** True if a damaged block was repaired. */
  healed: boolean
}

interface HoldParts {
  roots: RootTable
  holds: Holds
  blocks: BlockTable
  claims: Claims
  owners: RootOwners
  queue: WriteQueue
}

/**
 * The ledger as an external catalogue uses it. Holds are placed before the catalogue commits, and released after it
 * commits. After a crash, no hold is missing, but some may be unneeded. Each method that writes is one durable
 * transaction, and may be repeated.
 */
export class CatalogueHolds {
  readonly #parts: HoldParts

  constructor(parts: HoldParts) {
    this.#parts = parts
  }

  /** Returns the complete root of each hold. If any root is missing, places no hold and returns null. */
  place(wanted: readonly WantedHold[]): Promise<HeldRoot[] | null> {
    return this.#write(() => {
      const isMissing = (hold: WantedHold) =>
        !bringsContent(hold) && this.#parts.roots.find(hold.backendId, hold.dag, hold.dag.owner) === undefined
      // A root that is staged for one hold also serves the other holds on the same DAG.
      const brought = new Set(wanted.filter(bringsContent).map(keyOf))
      if (wanted.some(hold => isMissing(hold) && !brought.has(keyOf(hold)))) return null
      const inOrder = wanted.toSorted((a, b) => Number(bringsContent(b)) - Number(bringsContent(a)))
      const rootOf = new Map(inOrder.map(hold => [hold.id, this.#hold(hold)]))
      return wanted.map(({ id }) => rootOf.get(id) ?? NO_ROOT)
    })
  }

  /** Repairs the stored bytes of a block if they are damaged. Returns whether they were. */
  mend(backendId: number, block: NewBlock): Promise<boolean> {
    return this.#write(() => this.#parts.claims.mend(backendId, block))
  }

  stage(id: string, backendId: number, now: number): Promise<number> {
    return this.#write(() => {
      const rootId = this.#parts.roots.stage(backendId, now)
      this.#parts.holds.place(id, rootId, null)
      return rootId
    })
  }

  keep(id: string, stagedRootId: number): Promise<void> {
    return this.#write(() => this.#parts.holds.hold(id, stagedRootId, null))
  }

  /** Sets the ends of holds, in ms since the epoch; null for holds that last until they are released. */
  setEnds(ends: ReadonlyArray<{ id: string; ends: number | null }>): Promise<void> {
    return this.#write(() => {
      for (const hold of ends) this.#parts.holds.setEnds(hold.id, hold.ends)
    })
  }

  /** Releases holds. Returns the complete DAGs that have no hold any more. */
  release(ids: readonly string[]): Promise<OwnedDag[]> {
    return this.#write(() =>
      ids.flatMap(id => {
        const rootId = this.#parts.holds.rootOf(id)
        const root = rootId === null ? undefined : this.#parts.roots.get(rootId)
        this.#parts.holds.release(id)
        // A staged root has no multihash yet.
        const isWhole = root?.multihash instanceof Uint8Array
        return root === undefined || !isWhole || this.#parts.holds.isHeld(root.id) ? [] : [root]
      }),
    )
  }

  /** Does nothing for complete roots. */
  abandon(stagedRootIds: readonly number[]): Promise<void> {
    return this.#write(() => {
      for (const id of stagedRootIds) this.#parts.roots.abandon(id)
    })
  }

  /** Drops the complete roots that have no hold. */
  drop(rootIds: readonly number[]): Promise<void> {
    return this.#write(() => {
      for (const id of rootIds) if (!this.#parts.holds.isHeld(id)) this.#parts.roots.drop(id)
    })
  }

  find(backendId: number, dag: DagIdentity, owner: number): RootRow | undefined {
    return this.#parts.roots.find(backendId, dag, owner)
  }

  /** Returns a complete root of an owner on any backend. */
  findAnywhere(dag: DagIdentity, owner: number): RootRow | undefined {
    return this.#parts.roots.findAnywhere(dag, owner)
  }

  /**
   * Stores since when the external backend has had the DAG, unless a time is stored. Null means that the backend does
   * not have the DAG.
   */
  async setPlaced(backendId: number, dag: DagIdentity, at: number | null): Promise<void> {
    const isSo = ({ id }: RootRow): boolean => this.#parts.roots.isPlaced(id) === (at !== null)
    const known = this.#parts.roots.find(backendId, dag, PUBLIC)
    if (known === undefined || isSo(known)) return
    await this.#write(() => {
      const root = this.#parts.roots.find(backendId, dag, PUBLIC)
      if (root !== undefined && !isSo(root)) this.#parts.roots.setPlaced(root.id, at)
    })
  }

  /** Returns whether a hold is one of the catalogue. Other holds belong to the host program. */
  owns(id: string): boolean {
    return isCatalogueHold(id)
  }

  rootOf(id: string): number | null {
    return this.#parts.holds.rootOf(id)
  }

  /** Returns the complete root of a hold. */
  rootHeldBy(id: string): RootRow | undefined {
    return this.#parts.owners.rootOf(id)
  }

  /** Stages a copy of the root of a hold for another owner. Returns its id; null if the hold keeps no complete root. */
  copy(id: string, owner: number, now: number): Promise<number | null> {
    return this.#parts.owners.copy(id, owner, now)
  }

  /** Returns whether a hold keeps the complete root of a DAG. */
  keeps(id: string, backendId: number, dag: DagIdentity): boolean {
    return this.#parts.holds.keeps(id, backendId, dag)
  }

  isLostFrom(rootId: number): boolean {
    return this.#parts.blocks.isLostFrom(rootId)
  }

  /** Returns whether a hold keeps a complete root without known damage. */
  isSound(id: string): boolean {
    const root = this.rootHeldBy(id)
    return root !== undefined && !this.isLostFrom(root.id)
  }

  /** Returns a hold of a root; null for none. */
  holdOf(rootId: number): string | null {
    return this.#parts.holds.ofRoot(rootId, BEFORE_ALL, 1)[0]?.id ?? null
  }

  /** Returns whether a hold keeps content that nobody may read. */
  isMuted(id: string): boolean {
    return this.#parts.holds.isMuted(id)
  }

  /**
   * Returns the next public roots whose owners the node has not compared with the catalogue. The youngest come first.
   * `upTo` is 0 once all are compared.
   */
  uncompared(limit: number): { upTo: number; roots: number[]; last: number } {
    return this.#parts.owners.uncompared(limit)
  }

  /** Yields pages of the catalogue's holds by which somebody may read one of the roots. */
  *readableHolds(roots: readonly number[]): Generator<string[], void, undefined> {
    let page: string[] = []
    for (const root of roots) {
      let after: HoldPlace = MUTED_ONES
      for (let found = HOLDS_AT_ONCE; found === HOLDS_AT_ONCE; ) {
        const holds = this.#parts.holds.ofRoot(root, after, HOLDS_AT_ONCE)
        found = holds.length
        after = holds.at(-1) ?? after
        page.push(...holds.flatMap(({ id }) => (isCatalogueHold(id) ? id : [])))
        if (page.length < HOLDS_AT_ONCE) continue
        yield page
        page = []
      }
    }
    if (page.length > 0) yield page
  }

  /** Lets strangers read what {@link uncompared} has returned. */
  compared(given: { upTo: number; last: number }): Promise<void> {
    return this.#write(() => this.#parts.owners.compared(given))
  }

  holdsAfter(id: string, limit: number): string[] {
    return this.#parts.holds.after(id, limit).map(hold => hold.id)
  }

  /** Returns complete roots in the order of their ids. */
  rootsAfter(id: number, limit: number): Array<DagIdentity & { id: number; isHeld: 0 | 1 }> {
    return this.#parts.roots.completeAfter(id, limit)
  }

  files(rootId: number, offset: number, limit: number): RootFile[] {
    return this.#parts.roots.files(rootId, offset, limit)
  }

  #hold(wanted: WantedHold): HeldRoot {
    const { id, ends, isPlaced } = wanted
    const root = this.#rootOf(wanted)
    const { rootId } = root
    // The cluster has unpinned the DAG but the local hold remains, so the blocks of the DAG must stay on disk.
    if (isPlaced === false && this.#parts.roots.isPlaced(rootId)) this.#parts.roots.setPlaced(rootId, null)
    this.#parts.holds.hold(id, rootId, ends)
    return root
  }

  #rootOf({ backendId, stagedRootId, dag, block = null }: WantedHold): HeldRoot {
    if (block !== null) return this.#parts.claims.storeRoot(this.#parts.roots, backendId, dag, block, block.now)
    return { rootId: this.#parts.holds.complete(backendId, stagedRootId, dag)?.id ?? 0, healed: false }
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#parts.queue.run(work, { durable: true })
  }
}

const HOLDS_AT_ONCE = 500
const BEFORE_ALL: HoldPlace = { ends: -1, id: '' }
/** Place after all muted holds of a root, which nobody may read. Readable holds follow. */
const MUTED_ONES: HoldPlace = { ends: MUTED + 1, id: '' }
const NO_ROOT: HeldRoot = { rootId: 0, healed: false }

function bringsContent({ stagedRootId, block = null }: WantedHold): boolean {
  return stagedRootId !== null || block !== null
}

function keyOf({ backendId, dag }: WantedHold): string {
  return `${backendId} ${dag.owner} ${dag.codec} ${Buffer.from(dag.multihash).toString('hex')}`
}
