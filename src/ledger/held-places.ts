import type { BlockTable } from './block-table.ts'
import type { RootTable } from './root-table.ts'

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
    const { backendId, rootId, liveUntil } = place
    return { backendId, rootId, liveUntil, isLocal: block !== undefined && !this.#elsewhere.has(backendId) }
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
