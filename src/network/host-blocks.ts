import type { CID } from 'multiformats/cid'

/** Blocks that the host program has put into the node itself, beside those of records. */
export interface HostBlocks {
  /** False if there are certainly none. */
  mayHave(): boolean
  /** Null if the block is not there. */
  get(cid: CID): Promise<Uint8Array | null>
}
