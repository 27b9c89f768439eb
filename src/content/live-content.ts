import type { CID } from 'multiformats/cid'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { isInline } from '../ipld/cid.ts'
import type { HeldPlaces, RefusalStatus } from '../ledger/held-places.ts'
import { AbsentBlocks } from './absent-blocks.ts'
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

/** The readers of backends. */
export interface BackendReaders {
  /** Returns the reader of a backend, its blocks checked; null if it cannot be read. */
  readerOf(backendId: number): BlockSource | null
}

/** When to ask again for what is refused until a walk has ended. */
const RETRY_SECONDS = 5

/**
 * Answers the one question of every stranger's read, by gateway, thread, peer or other node: does a live root vouch for
 * this CID, and where is it?
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

  /** Whether a live root vouches for it and it can be read, without holding it. */
  has(cid: CID): boolean {
    if (isInline(cid)) return true
    const located = this.#locate(cid)
    return located !== null && typeof located !== 'number' && !(located.source instanceof AbsentBlocks)
  }

  /**
   * Null if no record needs it now: never stored, being stored, removed or expired. The caller releases it.
   *
   * @throws HoldfastError `GONE` or `LEGAL_REASONS` if every way to it is taken down, `UNAVAILABLE` while that is not known
   */
  lease(cid: CID): LeasedContent | null {
    if (isInline(cid)) {
      return { source: inlineBlocks, isLocal: true, sizeOf: () => null, liveUntil: null, release: () => undefined }
    }
    for (let located = this.#locate(cid); located !== null; located = this.#locate(cid)) {
      if (typeof located === 'number') throw takenDown(cid, located)
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
    const place = this.#held.open(multihash.bytes, this.#clock.now())
    if (place === null || typeof place === 'number') return place
    const source = this.#readers.readerOf(place.backendId)
    return source === null ? null : { ...place, source }
  }
}

/** How a stranger is refused a CID to which every way is withheld, or is not known yet. */
export function takenDown(cid: CID, status: RefusalStatus): HoldfastError {
  if (status === 503) {
    const message = `${cid} is below content with a takedown, which is being looked through; try again`
    return new HoldfastError('UNAVAILABLE', message, { details: { retryAfter: RETRY_SECONDS } })
  }
  const message = `${cid} is blocked by the operator of this gateway`
  return new HoldfastError(status === 451 ? 'LEGAL_REASONS' : 'GONE', message)
}
