import type { CID } from 'multiformats/cid'
import { Semaphore } from '../../src/concurrency/capacity/semaphore.ts'
import type { BlockSource } from '../../src/content/block-source.ts'
import type { ContentOrigin, HeldContent } from '../../src/gateway/source/request-blocks.ts'
import { isInline } from '../../src/ipld/cid.ts'

export interface NodeContent {
  source: BlockSource
  /** Called when the response has ended. */
  release: () => void
  /** Expiry of the content's last record, in ms since the epoch. Null if a record never expires. */
  liveUntil: number | null
}

/**
 * Returns null if no other node has the content.
 * @param owner number of the account that reads; null for a stranger
 * @throws HoldfastError `GONE` or `LEGAL_REASONS` if every node that has the content refuses to serve it
 */
export type FindNodeContent = (cid: CID, owner: number | null) => Promise<NodeContent | null>

/** Maximum number of concurrent block reads from other nodes, across all responses. */
const READS_AT_ONCE = 64

export class OtherContent implements ContentOrigin {
  readonly isForRecords = true
  readonly #find: FindNodeContent
  readonly #reads = new Semaphore(READS_AT_ONCE)

  constructor(find: FindNodeContent) {
    this.#find = find
  }

  open(root: CID, signal: AbortSignal): Promise<HeldContent | null> {
    return this.#open(root, signal, null)
  }

  withOwn(owner: number): ContentOrigin {
    return { isForRecords: true, open: (root, signal) => this.#open(root, signal, owner) }
  }

  async #open(root: CID, signal: AbortSignal, owner: number | null): Promise<HeldContent | null> {
    const found = isInline(root) ? null : await this.#find(root, owner)
    if (found === null) return null
    const { source, liveUntil, release } = found
    return {
      isLocal: false,
      liveUntil,
      get: cid => this.#reads.hold(1, () => source.read(cid, { signal })),
      sizeOf: () => null,
      release,
    }
  }
}
