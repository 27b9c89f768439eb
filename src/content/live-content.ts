import type { CID } from 'multiformats/cid'
import { HASH } from '../domain/cid.ts'
import type { Clock } from '../domain/clock.ts'
import type { BlockTable } from '../ledger/block-table.ts'
import type { BlockStore } from './block-store.ts'
import type { Leases } from './leases.ts'

/** Content that some live record needs, held against collection until released. */
export interface LeasedContent {
  /** The block store that has it and everything below it. */
  store: BlockStore
  /** Until when it is certain to be needed, in milliseconds since the epoch; null for no end. */
  liveUntil: number | null
  /** Ends the hold; safe to call more than once. */
  release(): void
}

/** Answers the one question of a read: does a live record need this CID, and where is it? */
export class LiveContent {
  readonly #blocks: BlockTable
  readonly #stores: ReadonlyMap<number, BlockStore>
  readonly #leases: Leases
  readonly #clock: Clock

  constructor(blocks: BlockTable, stores: ReadonlyMap<number, BlockStore>, leases: Leases, clock: Clock) {
    this.#blocks = blocks
    this.#stores = stores
    this.#leases = leases
    this.#clock = clock
  }

  /** Whether a live record needs it, without holding it. */
  has(cid: CID): boolean {
    if (cid.multihash.code === HASH.identity) return true
    return this.#blocks.findLive(cid.multihash.bytes, this.#clock.now()) !== undefined
  }

  /** Null if no record needs it now: never stored, being stored, removed or expired. The caller releases it. */
  lease(cid: CID): LeasedContent | null {
    if (cid.multihash.code === HASH.identity) {
      const store = this.#stores.get(0)
      return store === undefined ? null : { store, liveUntil: null, release: () => undefined }
    }
    const held = this.#blocks.findLive(cid.multihash.bytes, this.#clock.now())
    const store = held === undefined ? undefined : this.#stores.get(held.backendId)
    if (held === undefined || store === undefined) return null
    return { store, liveUntil: held.liveUntil, release: this.#leases.hold(held.rootId) }
  }
}
