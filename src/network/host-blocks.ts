import type { CID } from 'multiformats/cid'

/** Blocks that the host program stored itself, in addition to those of records. */
export interface HostBlocks {
  /** Returns false if the host program has certainly stored none. */
  mayHave(): boolean
  /** Returns the block, or null if the host program has not stored it. */
  get(cid: CID): Promise<Uint8Array | null>
}
