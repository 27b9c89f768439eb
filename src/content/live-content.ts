import type { CID } from 'multiformats/cid'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { isInline } from '../ipld/cid.ts'
import type { HeldPlaces, RefusalStatus } from '../ledger/held-places.ts'
import { AbsentBlocks } from './absent-blocks.ts'
import { type BlockSource, inlineBlocks } from './block-source.ts'
import type { LeaseHolder } from './leases.ts'

/** Content of a live record, protected from collection until it is released. */
export interface LeasedContent {
  /** Reads the root and everything below it; checks the hash of each block. */
  source: BlockSource
  /** True if the blocks are on this node, so that a read takes milliseconds. */
  isLocal: boolean
  /** Returns the bytes of a block; null if unknown without reading it. */
  sizeOf(cid: CID): number | null
  /** Time until which a record keeps it, in milliseconds since the epoch; null for no end. */
  liveUntil: number | null
  /** Ends the lease; safe to call more than once. */
  release(): void
}

/** The readers of backends. */
export interface BackendReaders {
  /** Returns the reader of a backend, which checks its blocks; null if the backend cannot be read. */
  readerOf(backendId: number): BlockSource | null
}

/** Delay before a retry of a request that waits for a walk. */
const RETRY_SECONDS = 5

/**
 * Lookup for every stranger's read, by gateway, thread, peer or other node: checks that a live root vouches for a CID,
 * and locates it.
 */
export class LiveContent {
  readonly #held: HeldPlaces
  readonly #readers: BackendReaders
  readonly #leases: LeaseHolder
  readonly #clock: Clock

  constructor(held: HeldPlaces, readers: BackendReaders, leases: LeaseHolder, clock: Clock) {
    this.#held = held
    this.#readers = readers
    this.#leases = leases
    this.#clock = clock
  }

  /** Returns true if a live root vouches for the CID and it can be read. Takes no lease. */
  has(cid: CID): boolean {
    if (isInline(cid)) return true
    const located = this.#locate(cid)
    return located !== null && typeof located !== 'number' && !(located.source instanceof AbsentBlocks)
  }

  /**
   * Leases content. Returns null if no record needs it: never stored, being stored, removed or expired. The caller
   * releases it.
   *
   * @throws HoldfastError `GONE` or `LEGAL_REASONS` if every way to it is taken down, `UNAVAILABLE` while that is
   * unknown
   */
  lease(cid: CID): LeasedContent | null {
    if (isInline(cid)) {
      return { source: inlineBlocks, isLocal: true, sizeOf: () => null, liveUntil: null, release: () => undefined }
    }
    for (let located = this.#locate(cid); located !== null; located = this.#locate(cid)) {
      if (typeof located === 'number') throw takenDown(cid, located)
      const { source, backendId, rootId, isLocal, liveUntil } = located
      const release = this.#leases.hold(rootId)
      // A collector in another thread drops a root before it reads the leases. Either it sees this lease, or this check
      // sees the dropped root.
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
    const place = this.#held.open(multihash.bytes, this.#clock.now())
    if (place === null || typeof place === 'number') return place
    const source = this.#readers.readerOf(place.backendId)
    return source === null ? null : { ...place, source }
  }
}

/** Returns the error for a CID whose ways are all withheld, or not known yet. */
export function takenDown(cid: CID, status: RefusalStatus): HoldfastError {
  if (status === 503) {
    const message = `${cid} is below content with a takedown that is being applied; try again`
    return new HoldfastError('UNAVAILABLE', message, { details: { retryAfter: RETRY_SECONDS } })
  }
  const message = `${cid} is blocked by the operator of this gateway`
  return new HoldfastError(status === 451 ? 'LEGAL_REASONS' : 'GONE', message)
}
