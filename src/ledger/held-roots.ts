import type { CID } from 'multiformats/cid'
import type { DagIdentity } from '../domain/cid.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import type { BlockTable } from './block-table.ts'
import type { RootRow, RootTable } from './root-table.ts'

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

/** What the node holds, to be looked up: complete roots, and which backend has a block for somebody. */
export class HeldRoots {
  readonly #roots: RootTable
  readonly #blocks: BlockTable
  readonly #queue: WriteQueue

  readonly #elsewhere: ReadonlySet<number>

  /** @param elsewhere backends that are asked only for what no other has, so that no two nodes ask each other */
  constructor(roots: RootTable, blocks: BlockTable, queue: WriteQueue, elsewhere: ReadonlySet<number> = new Set()) {
    this.#elsewhere = elsewhere
    this.#roots = roots
    this.#blocks = blocks
    this.#queue = queue
  }

  /** The complete root of a DAG on a backend. */
  find(backendId: number, dag: DagIdentity): RootRow | undefined {
    return this.#roots.find(backendId, dag)
  }

  /** The complete root of a DAG on any backend. */
  findAnywhere(dag: DagIdentity): RootRow | undefined {
    return this.#roots.findAnywhere(dag)
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

  /** Whether a root, in whatever state it is, needs a block. */
  isNeededBy(rootId: number, backendId: number, multihash: Uint8Array): boolean {
    const found = this.#blocks.find(backendId, multihash)
    return found !== undefined && this.#blocks.isNeededBy(rootId, found.id)
  }

  /** The complete roots that need a block, on any backend, each looked up as it is asked for. */
  *rootsWith(multihash: Uint8Array): Generator<DagIdentity, void, undefined> {
    for (const blockId of this.#blocks.idsOf(multihash)) {
      for (let after = 0; ; ) {
        const [root] = this.#blocks.completeRootsOf(blockId, after, 1)
        if (root === undefined) break
        yield root
        after = root.id
      }
    }
  }

  /** Complete roots that the network was never told of, or not since `before`; the longest ago first. */
  announcedBefore(before: number, limit: number): Array<{ id: number; cid: CID }> {
    return this.#roots.announcedBefore(before, limit)
  }

  /** Notes that the network was told of a root. */
  setAnnounced(rootId: number, at: number): Promise<void> {
    return this.#queue.run(() => this.#roots.setAnnounced(rootId, at), { durable: false })
  }
}
