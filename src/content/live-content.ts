import type { CID } from 'multiformats/cid'
import type { MultihashDigest } from 'multiformats/hashes/interface'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { HASH, isInline } from '../ipld/cid.ts'
import type { HeldRoots, RefusalStatus } from '../ledger/held-roots.ts'
import { Possessor, PUBLIC } from '../ledger/possessor.ts'
import { AbsentBlocks } from './absent-blocks.ts'
import { type BlockSource, inlineBlocks } from './block-source.ts'
import type { LeaseHolder } from './leases.ts'

/** Content of a live record, protected from garbage collection until the lease is released. */
export interface LeasedContent {
  /** Checks the hash of each block. Reads a block that the root does not need as content of its own. */
  source: BlockSource
  /** True if the blocks are on this node, so that a read takes only milliseconds. */
  isLocal: boolean
  /** Returns whether the root needs a block. Null if only the backend knows. */
  has(cid: CID): boolean | null
  /** Returns null if the size in bytes is unknown without reading the block, or if the root does not need the block. */
  sizeOf(cid: CID): number | null
  /** Time at which the last record of the content expires, in ms since the epoch. Null if a record never expires. */
  liveUntil: number | null
  /** Id of the root in the ledger. Null for content without a record. */
  rootId: number | null
  /** Ends the lease. Further calls have no effect. */
  release(): void
}

export interface BackendReaders {
  /** Returns null if the backend cannot be read. */
  readerOf(backendId: number): BlockSource | null
}

/** Delay for a request that waits for a walk. */
const RETRY_SECONDS = 5

/**
 * Looks up content for all public reads, by gateways, threads, peers and other nodes. Checks that a live root contains
 * the CID on a path that is not taken down.
 */
export class LiveContent {
  readonly #held: HeldRoots
  readonly #readers: BackendReaders
  readonly #leases: LeaseHolder
  readonly #clock: Clock

  constructor(held: HeldRoots, readers: BackendReaders, leases: LeaseHolder, clock: Clock) {
    this.#held = held
    this.#readers = readers
    this.#leases = leases
    this.#clock = clock
  }

  /** Returns whether a live root contains the CID, without a lease. */
  has(cid: CID): boolean {
    if (isInline(cid)) return true
    const located = this.#locate(cid)
    return located !== null && typeof located !== 'number' && !(located.source instanceof AbsentBlocks)
  }

  /**
   * Leases content until the caller releases it. Returns null if no complete and live record needs the content.
   *
   * @param owner number of the account that reads; the default is a stranger
   * @throws HoldfastError `GONE` or `LEGAL_REASONS` if every path to the content is taken down; `UNAVAILABLE` if a walk
   * has not checked the paths yet
   */
  lease(cid: CID, owner = PUBLIC): LeasedContent | null {
    if (isInline(cid)) {
      return {
        source: inlineBlocks,
        isLocal: true,
        has: () => true,
        sizeOf: () => null,
        liveUntil: null,
        rootId: null,
        release: () => undefined,
      }
    }
    const locate = () => this.#locate(cid, owner)
    for (let located = locate(); located !== null; located = locate()) {
      if (typeof located === 'number') throw takenDown(cid, located)
      const { source, backendId, rootId, isLocal, liveUntil } = located
      const release = this.#leases.hold(rootId)
      // The collector's thread drops a root before it reads the leases. Therefore the collector sees this lease, or
      // this check sees the dropped root.
      if (this.#leases.isShared && !this.#held.isLive(rootId, this.#clock.now())) {
        release()
        continue
      }
      const has = (block: CID): boolean | null => {
        const { multihash } = block
        if (multihash.code === HASH.identity || isSame(multihash, cid.multihash)) return true
        return this.#held.needs(located, cid.multihash.bytes, multihash.bytes)
      }
      const read: BlockSource['read'] = (block, options) =>
        has(block) === false ? this.#readApart(block, owner, options) : source.read(block, options)
      const sizeOf = (block: CID): number | null =>
        has(block) === false ? null : this.#held.sizeOf(backendId, block.multihash.bytes)
      return { source: { read }, isLocal, has, sizeOf, liveUntil, rootId, release }
    }
    return null
  }

  /** Returns whether another node may read a block below a CID for an account. A takedown does not apply. */
  isBelow(upper: CID, { multihash }: CID, owner: number): boolean {
    const by = new Possessor(owner, this.#clock)
    return isSame(upper.multihash, multihash) || this.#held.isBelow(upper.multihash.bytes, multihash.bytes, by)
  }

  async #readApart(cid: CID, owner: number, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array> {
    const leased = this.lease(cid, owner)
    if (leased === null) throw new HoldfastError('NOT_FOUND', `block ${cid} is not on this node`)
    try {
      return await leased.source.read(cid, options)
    } finally {
      leased.release()
    }
  }

  #locate({ multihash }: CID, owner = PUBLIC) {
    const place = this.#held.own(multihash.bytes, this.#clock.now(), owner)
    if (place === null || typeof place === 'number') return place
    const source = this.#readers.readerOf(place.backendId)
    return source === null ? null : { ...place, source }
  }
}

function isSame(a: MultihashDigest, b: MultihashDigest): boolean {
  return Buffer.compare(a.bytes, b.bytes) === 0
}

export function takenDown(cid: CID, status: RefusalStatus): HoldfastError {
  if (status === 503) {
    const message = `${cid} is below content with a takedown that is being applied; try again`
    return new HoldfastError('UNAVAILABLE', message, { details: { retryAfter: RETRY_SECONDS } })
  }
  const message = `${cid} is blocked by the operator of this gateway`
  return new HoldfastError(status === 451 ? 'LEGAL_REASONS' : 'GONE', message)
}
