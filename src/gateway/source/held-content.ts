import type { CID } from 'multiformats/cid'
import type { LeasedContent, LiveContent } from '../../content/live-content.ts'
import { Semaphore } from '../../domain/concurrency/semaphore.ts'

/** Blocks that may be served until they are released. */
export interface HeldContent {
  /** Whether reading is a matter of milliseconds. */
  readonly isLocal: boolean
  /** Until when they may be served, as far as is known, in milliseconds since the epoch; null for no end. */
  readonly liveUntil: number | null
  /**
   * The bytes of a block, their hash checked.
   *
   * @throws HoldfastError `NOT_FOUND`, `CID_NOT_FOUND`, `BLOCK_DAMAGED`, `UNAVAILABLE`
   */
  get(cid: CID): Promise<Uint8Array>
  /** The length of a block if that is known without reading it. */
  sizeOf(cid: CID): number | null
  /** Safe to call more than once. */
  release(): void
}

/** Where content comes from. */
export interface ContentOrigin {
  /**
   * Null if the root is not to be had here. The caller releases what it gets.
   *
   * @throws HoldfastError `UNAVAILABLE` if that could not be found out in time.
   */
  open(root: CID, signal: AbortSignal): HeldContent | null | Promise<HeldContent | null>
}

/** Blocks being read and checked at a time, over all answers: about what the thread pool works on. */
const READS_AT_ONCE = 6

/** Blocks being read from clusters that are kept elsewhere: these wait for others, and nobody here for them. */
const READS_ELSEWHERE_AT_ONCE = 32

/** What live records need. */
export class PinnedContent implements ContentOrigin {
  readonly #content: LiveContent
  readonly #reads = new Semaphore(READS_AT_ONCE)
  readonly #readsElsewhere = new Semaphore(READS_ELSEWHERE_AT_ONCE)

  constructor(content: LiveContent) {
    this.#content = content
  }

  open(root: CID, signal: AbortSignal): HeldContent | null {
    const leased = this.#content.lease(root)
    if (leased === null) return null
    return new LeasedBlocks(leased, leased.isLocal ? this.#reads : this.#readsElsewhere, signal)
  }
}

class LeasedBlocks implements HeldContent {
  readonly isLocal: boolean
  readonly liveUntil: number | null
  readonly #leased: LeasedContent
  readonly #reads: Semaphore
  readonly #signal: AbortSignal

  constructor(leased: LeasedContent, reads: Semaphore, signal: AbortSignal) {
    this.#leased = leased
    this.#reads = reads
    this.#signal = signal
    this.isLocal = leased.isLocal
    this.liveUntil = leased.liveUntil
  }

  get(cid: CID): Promise<Uint8Array> {
    return this.#reads.hold(1, () => this.#leased.source.read(cid, { signal: this.#signal }))
  }

  sizeOf(cid: CID): number | null {
    return this.#leased.sizeOf(cid)
  }

  release(): void {
    this.#leased.release()
  }
}
