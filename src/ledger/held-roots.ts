import type { DagIdentity } from '../ipld/cid.ts'
import type { BlockTable } from './block-table.ts'
import { type Possessor, PUBLIC } from './possessor.ts'
import type { LiveRoot, RootRow, RootTable } from './root-table.ts'
import type { OwnedDag } from './whole-dag.ts'

/** The location of a block that a live root needs. */
export interface HeldPlace {
  backendId: number
  /** A complete root that needs the block. */
  rootId: number
  /** End of the root's last hold in ms since the epoch; null if a hold never ends. */
  liveUntil: number | null
  isLocal: boolean
}

/** HTTP status of the response to a refused request for a block. */
export type RefusalStatus = 410 | 451 | 503

/** Finds complete roots and held blocks. It only reads, so it works on any connection to the database. */
export class HeldRoots {
  readonly #roots: RootTable
  readonly #blocks: BlockTable
  readonly #external: ReadonlySet<number>

  /** @param external backends to search last, so that two nodes do not forward a request to each other */
  constructor(roots: RootTable, blocks: BlockTable, external: ReadonlySet<number> = new Set()) {
    this.#roots = roots
    this.#blocks = blocks
    this.#external = external
  }

  /**
   * Returns the location of a block that a possessor may use. For an external backend, the ledger may know only the
   * root.
   */
  locate(multihash: Uint8Array, by: Possessor): HeldPlace | null {
    const block = this.#blocks.findPossessed(multihash, by, this.#external)
    const place = block ?? this.#roots.findPossessed(multihash, by)
    if (place === undefined) return null
    return placeOf(place, block !== undefined && !this.#external.has(place.backendId))
  }

  /**
   * Locates a block for a stranger: only if a live public root makes the block public. Otherwise returns the status of a
   * takedown, or 503 until the walk of a root has ended. Returns null if no live public root needs the block.
   */
  open(multihash: Uint8Array, now: number): HeldPlace | RefusalStatus | null {
    const { open } = this.#blocks
    const backends = open.publicBackends(multihash, this.#external)
    const block = open.find(multihash, now, backends)
    if (block !== undefined) return placeOf(block, !this.#external.has(block.backendId))
    const roots = this.#roots.findOpen(multihash, now)
    const root = roots.find(({ backendId }) => !this.#external.has(backendId)) ?? roots[0]
    if (root !== undefined) {
      return placeOf(root, !this.#external.has(root.backendId) && this.sizeOf(root.backendId, multihash) !== null)
    }
    if (open.isStale(multihash, now, backends)) return 503
    return refusalOf(open.findRefusal(multihash, now, backends))
  }

  /**
   * Locates a block for an account: by a live root of the account, so that the account pays for it, and otherwise as
   * {@link open}. A takedown applies to the account, too.
   */
  own(multihash: Uint8Array, now: number, owner: number): HeldPlace | RefusalStatus | null {
    if (owner === PUBLIC) return this.open(multihash, now)
    const place = this.#roots.findOpen(multihash, now, owner)[0] ?? this.#blocks.open.findOwn(multihash, now, owner)
    return place === undefined ? this.open(multihash, now) : placeOf(place, !this.#external.has(place.backendId))
  }

  /** Returns whether a live root of the possessor's own has a block, by a way without a takedown. */
  hasOwn(multihash: Uint8Array, { now, owner }: Possessor): boolean {
    return (
      this.#roots.findOpen(multihash, now, owner).length > 0 ||
      this.#blocks.open.findOwn(multihash, now, owner) !== undefined
    )
  }

  /**
   * Returns live roots whose accounts may pay for a block. For a private root only that root. Otherwise the roots that
   * make the block public: `rootId`, the roots with this multihash, then the oldest others.
   */
  payingRoots(multihash: Uint8Array, rootId: number, now: number, limit: number): number[] {
    if ((this.#roots.get(rootId)?.owner ?? PUBLIC) !== PUBLIC) return [rootId]
    const own = this.#roots.findOpen(multihash, now).map(root => root.rootId)
    const others = this.#blocks.open.rootsOf(multihash, now, limit)
    return [...new Set([rootId, ...own, ...others])].slice(0, limit)
  }

  /**
   * Returns whether the root of a place needs a block, by a way without a takedown. Other blocks need a look-up of their
   * own, because the bytes of a file are a directory by a CID of another codec. Returns null for an external backend if
   * the ledger knows the root only, and not the block that led to it.
   */
  needs(
    { rootId, backendId }: Pick<HeldPlace, 'rootId' | 'backendId'>,
    upper: Uint8Array,
    multihash: Uint8Array,
  ): boolean | null {
    if (this.#external.has(backendId) && !this.#blocks.isOpenIn(rootId, backendId, upper)) return null
    return this.#blocks.isOpenIn(rootId, backendId, multihash)
  }

  /** Returns whether a possessor may use a block by itself, or as one that a root needs beside an upper block. */
  isBelow(upper: Uint8Array, multihash: Uint8Array, by: Possessor): boolean {
    if (this.#blocks.isBelow(upper, multihash, by) || this.locate(multihash, by) !== null) return true
    // Unlike the others, this look-up finds a public root behind any number of others.
    const place = this.open(multihash, by.now)
    return place !== null && typeof place !== 'number'
  }

  /** Returns null if the block is not durable. */
  sizeOf(backendId: number, multihash: Uint8Array): number | null {
    const found = this.#blocks.find(backendId, multihash)
    return found?.state === 'durable' ? found.size : null
  }

  find(backendId: number, dag: DagIdentity, owner: number): RootRow | undefined {
    return this.#roots.find(backendId, dag, owner)
  }

  findOfAny(backendId: number, dag: DagIdentity): RootRow | undefined {
    return this.#roots.findOfAny(backendId, dag)
  }

  /** Returns whether a verification or a reconciliation found a block of the root damaged, and nothing repaired it. */
  isLostFrom(rootId: number): boolean {
    return this.#blocks.isLostFrom(rootId)
  }

  findAnywhere(dag: DagIdentity, owner: number): RootRow | undefined {
    return this.#roots.findAnywhere(dag, owner)
  }

  /** Returns whether a possessor may use a block of a backend. */
  mayUse(backendId: number, multihash: Uint8Array, by: Possessor): boolean {
    const found = this.#blocks.find(backendId, multihash)
    return found !== undefined && this.#blocks.isPossessed(found.id, by)
  }

  /** Yields the complete roots of all owners that need a block, on any backend. Reads each root on request. */
  *rootsWith(multihash: Uint8Array): Generator<OwnedDag, void, undefined> {
    for (const blockId of this.#blocks.idsOf(multihash)) {
      for (let after = 0; ; ) {
        const [root] = this.#blocks.completeRootsOf(blockId, after, 1)
        if (root === undefined) break
        yield root
        after = root.id
      }
    }
  }

  /** Returns whether a root is complete and held at `now`. */
  isLive(rootId: number, now: number): boolean {
    return this.#roots.isLive(rootId, now)
  }
}

function placeOf({ backendId, rootId, liveUntil }: LiveRoot, isLocal: boolean): HeldPlace {
  return { backendId, rootId, liveUntil, isLocal }
}

/**
 * Returns 503 until the walk of the root has ended, then the status of the takedown. Returns null if no takedown
 * applies.
 */
function refusalOf(found: { way: number; barred: number } | undefined): RefusalStatus | null {
  if (found === undefined) return null
  if (found.barred === 1) return 503
  const status = found.barred > 1 ? found.barred : found.way
  return status === 410 || status === 451 ? status : null
}
