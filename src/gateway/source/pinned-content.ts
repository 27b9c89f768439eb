import type { CID } from 'multiformats/cid'
import { Semaphore } from '../../concurrency/capacity/semaphore.ts'
import { currentOwner } from '../../concurrency/work.ts'
import type { LeasedContent, LiveContent } from '../../content/live-content.ts'
import { PUBLIC } from '../../ledger/possessor.ts'
import type { ContentOrigin, HeldContent } from './request-blocks.ts'

/** Concurrent block reads for all responses, about the size of the thread pool. */
const READS_AT_ONCE = 6

/** Remote reads have their own limit, because they wait for the network and not for the disk. */
const REMOTE_READS_AT_ONCE = 32

export class PinnedContent implements ContentOrigin {
  readonly isForRecords = true
  readonly #content: LiveContent
  readonly #reads = new Semaphore(READS_AT_ONCE)
  readonly #remoteReads = new Semaphore(REMOTE_READS_AT_ONCE)

  constructor(content: LiveContent) {
    this.#content = content
  }

  open(root: CID, signal: AbortSignal): HeldContent | null {
    return this.#open(root, signal, PUBLIC)
  }

  withOwn(owner: number): ContentOrigin {
    return { isForRecords: true, open: (root, signal) => this.#open(root, signal, owner) }
  }

  #open(root: CID, signal: AbortSignal, owner: number): HeldContent | null {
    const leased = this.#content.lease(root, owner)
    if (leased === null) return null
    return new LeasedBlocks(leased, leased.isLocal ? this.#reads : this.#remoteReads, signal)
  }
}

class LeasedBlocks implements HeldContent {
  readonly isLocal: boolean
  readonly liveUntil: number | null
  readonly rootId: number | null
  readonly #leased: LeasedContent
  readonly #reads: Semaphore
  readonly #signal: AbortSignal

  constructor(leased: LeasedContent, reads: Semaphore, signal: AbortSignal) {
    this.#leased = leased
    this.#reads = reads
    this.#signal = signal
    this.isLocal = leased.isLocal
    this.liveUntil = leased.liveUntil
    this.rootId = leased.rootId
  }

  get(cid: CID): Promise<Uint8Array> {
    const read = (): Promise<Uint8Array> => this.#leased.source.read(cid, { signal: this.#signal })
    return this.#reads.hold(1, read, currentOwner())
  }

  has(cid: CID): boolean | null {
    return this.#leased.has(cid)
  }

  sizeOf(cid: CID): number | null {
    return this.#leased.sizeOf(cid)
  }

  release(): void {
    this.#leased.release()
  }
}
