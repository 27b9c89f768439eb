import type { CID } from 'multiformats/cid'

/** Blocks that the host program has stored itself. They are independent of the blocks of records. */
export interface HostBlocks {
  /** Returns false only if it is certain that the host program has stored no block. */
  mayHave(): boolean
  /** Returns the block. Returns null if the host program has not stored the block. */
  get(cid: CID): Promise<Uint8Array | null>
}
