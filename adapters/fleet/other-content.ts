import type { CID } from 'multiformats/cid'
import { Semaphore } from '../../src/concurrency/semaphore.ts'
import type { BlockSource } from '../../src/content/block-source.ts'
import type { ContentOrigin, HeldContent } from '../../src/gateway/source/request-blocks.ts'
import { isInline } from '../../src/ipld/cid.ts'

/** Content that another node has, read through it. */
export interface ContentElsewhere {
  /** Each block checked. */
  source: BlockSource
  /** Until when somebody needs it, in milliseconds since the epoch; null for no end. */
  liveUntil: number | null
}

/**
 * Where content is that this node does not have; null if it is nowhere.
 *
 * @throws HoldfastError `GONE` or `LEGAL_REASONS` if every node that has it refuses it to strangers
 */
export type FindElsewhere = (cid: CID) => Promise<ContentElsewhere | null>

/** Blocks being read from other nodes, over all answers. */
const READS_AT_ONCE = 64

/** What other nodes of the fleet keep. */
export class OtherContent implements ContentOrigin {
  readonly isForRecords = true
  readonly #find: FindElsewhere
  readonly #reads = new Semaphore(READS_AT_ONCE)

  constructor(find: FindElsewhere) {
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
