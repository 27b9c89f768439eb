import type { CID } from 'multiformats/cid'
import { HASH } from '../domain/cid.ts'
import type { Clock } from '../domain/clock.ts'
import type { HeldPlaces } from '../ledger/held-places.ts'
import { type BlockSource, inlineBlocks } from './block-source.ts'
import type { LeaseHolder } from './leases.ts'

/** Content that some live record needs, held against collection until released. */
export interface LeasedContent {
  /** Reads it and everything below it, each block checked by its hash. */
  source: BlockSource
  /** Whether the blocks are on this node, so that reading them is a matter of milliseconds. */
  isLocal: boolean
  /** The length of a block, if that is known without reading it. */
  sizeOf(cid: CID): number | null
  /** Until when it is certain to be needed, in milliseconds since the epoch; null for no end. */
  liveUntil: number | null
  /** Ends the hold; safe to call more than once. */
  release(): void
}

/** Answers the one question of a read: does a live record need this CID, and where is it? */
export class LiveContent {
  readonly #held: HeldPlaces
  readonly #readerOf: (backendId: number) => BlockSource | null
  readonly #leases: LeaseHolder
  readonly #clock: Clock

  /** @param readerOf what a backend is read through, its blocks checked; null if it cannot be read */
  constructor(
    held: HeldPlaces,
    readerOf: (backendId: number) => BlockSource | null,
    leases: LeaseHolder,
    clock: Clock,
  ) {
    this.#held = held
    this.#readerOf = readerOf
    this.#leases = leases
    this.#clock = clock
  }

  /** Whether a live record needs it and it can be read, without holding it. */
  has(cid: CID): boolean {
    return cid.multihash.code === HASH.identity || this.#locate(cid) !== null
  }

  /** Null if no record needs it now: never stored, being stored, removed or expired. The caller releases it. */
  lease(cid: CID): LeasedContent | null {
    if (cid.multihash.code === HASH.identity) {
      return { source: inlineBlocks, isLocal: true, sizeOf: () => null, liveUntil: null, release: () => undefined }
    }
    for (let located = this.#locate(cid); located !== null; located = this.#locate(cid)) {
      const { source, backendId, rootId, isLocal, liveUntil } = located
      const release = this.#leases.hold(rootId)
      // A collector in another thread reads the leases after it has dropped a root: so either it sees this one, or the
      // root is seen here to be gone.
      if (this.#leases.isShared && !this.#held.isLive(rootId, this.#clock.now())) {
        release()
        continue
      }
      const sizeOf = ({ multihash }: CID): number | null => this.#held.sizeOf(backendId, multihash.bytes)
      return { source, isLocal, sizeOf, liveUntil, release }
    }
    return null
  }

  #locate({ multihash }: CID) {
    const place = this.#held.locate(multihash.bytes, this.#clock.now())
    const source = place === null ? null : this.#readerOf(place.backendId)
    return place === null || source === null ? null : { ...place, source }
  }
}
