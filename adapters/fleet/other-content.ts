import type { CID } from 'multiformats/cid'
import { Semaphore } from '../../src/concurrency/semaphore.ts'
import type { BlockSource } from '../../src/content/block-source.ts'
import type { ContentOrigin, HeldContent } from '../../src/gateway/source/request-blocks.ts'
import { isInline } from '../../src/ipld/cid.ts'

/** Content of another node. */
export interface NodeContent {
  /** Returns verified blocks. */
  source: BlockSource
  /** End of its life, in ms since the epoch; null for no end. */
  liveUntil: number | null
}

/**
 * Finds content on the fleet's other nodes; null if none has it.
 *
 * @throws HoldfastError `GONE` or `LEGAL_REASONS` if every node that has it refuses to serve it
 */
export type FindNodeContent = (cid: CID) => Promise<NodeContent | null>

/** Concurrent block reads from other nodes, for all answers. */
const READS_AT_ONCE = 64

/** Content of the fleet's other nodes. */
export class OtherContent implements ContentOrigin {
  readonly isForRecords = true
  readonly #find: FindNodeContent
  readonly #reads = new Semaphore(READS_AT_ONCE)

  constructor(find: FindNodeContent) {
    this.#find = find
  }

  async open(root: CID, signal: AbortSignal): Promise<HeldContent | null> {
    const found = isInline(root) ? null : await this.#find(root)
    if (found === null) return null
    const { source, liveUntil } = found
    return {
      isLocal: false,
      liveUntil,
      get: cid => this.#reads.hold(1, () => source.read(cid, { signal })),
      sizeOf: () => null,
      release: () => undefined,
    }
  }
}
