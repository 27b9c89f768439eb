import type { CID } from 'multiformats/cid'

/** Blocks that the host program has stored, independent of the blocks of records. */
export interface HostBlocks {
  /** Returns false only if the host program has certainly stored no block. */
  mayHave(): boolean
  get(cid: CID): Promise<Uint8Array | null>
}
