import type { BlockTable } from './block-table.ts'
import type { LiveRoot, RootTable } from './root-table.ts'

/** Where a block is held for somebody. */
export interface HeldPlace {
  backendId: number
  /** A complete root that needs it. */
  rootId: number
  /** When the last hold on that root ends, in milliseconds since the epoch; null for never. */
  liveUntil: number | null
  /** Whether it is in a block store of this node. */
  isLocal: boolean
}

/** The status by which a stranger is refused a block. */
export type RefusalStatus = 410 | 451 | 503

/** Where the node has what it holds: reads alone, of whichever connection. */
export class HeldPlaces {
  readonly #roots: RootTable
  readonly #blocks: BlockTable
  readonly #elsewhere: ReadonlySet<number>

  /** @param elsewhere backends that are asked only for what no other has, so that no two nodes ask each other */
  constructor(roots: RootTable, blocks: BlockTable, elsewhere: ReadonlySet<number> = new Set()) {
    this.#roots = roots
    this.#blocks = blocks
    this.#elsewhere = elsewhere
  }

  /**
   * Where a block, and so everything below it, is held at an instant; null if it is nowhere. Of what a backend keeps
   * elsewhere only the roots are known here.
   */
  locate(multihash: Uint8Array, now: number): HeldPlace | null {
    const block = this.#blocks.findLive(multihash, now, this.#elsewhere)
    const place = block ?? this.#roots.findLive(multihash, now)
    if (place === undefined) return null
    return placeOf(place, block !== undefined && !this.#elsewhere.has(place.backendId))
  }

  /**
   * As {@link locate}, for strangers: where a live root vouches for the block, itself or by a path that passes nothing
   * withheld. Otherwise how the request is refused: by 410 or 451 as the takedown says, or by 503 while that is not
   * known yet; null if nobody needs the block.
   */
  open(multihash: Uint8Array, now: number): HeldPlace | RefusalStatus | null {
    const block = this.#blocks.findOpen(multihash, now, this.#elsewhere)
    if (block !== undefined) return placeOf(block, !this.#elsewhere.has(block.backendId))
    const roots = this.#roots.findOpen(multihash, now)
    const root = roots.find(({ backendId }) => !this.#elsewhere.has(backendId)) ?? roots[0]
    if (root === undefined) return refusalOf(this.#blocks.findRefusal(multihash, now))
    return placeOf(root, !this.#elsewhere.has(root.backendId) && this.sizeOf(root.backendId, multihash) !== null)
  }

  /** Bytes of a block that is here; null otherwise. */
  sizeOf(backendId: number, multihash: Uint8Array): number | null {
    const found = this.#blocks.find(backendId, multihash)
    return found?.state === 'durable' ? found.size : null
  }

  /** Whether a root is complete and held at an instant. */
  isLive(rootId: number, now: number): boolean {
    return this.#roots.isLive(rootId, now)
  }
}

function placeOf({ backendId, rootId, liveUntil }: LiveRoot, isLocal: boolean): HeldPlace {
  return { backendId, rootId, liveUntil, isLocal }
}

/** A root of which the walk has not ended says nothing yet, whatever an earlier walk has found. */
function refusalOf(found: { way: number; barred: number } | undefined): RefusalStatus | null {
  if (found === undefined) return null
  if (found.barred === 1) return 503
  const status = found.barred > 1 ? found.barred : found.way
  return status === 410 || status === 451 ? status : null
}
