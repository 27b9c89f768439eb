import type { CID } from 'multiformats/cid'

/** Blocks that the engine serves to peers: the blocks of live records, except blocks that are taken down. */
export interface ServedBlocks {
  /** Returns the bytes of a block. Returns null if the engine must not serve the block. */
  get(cid: CID): Promise<Uint8Array | null>
  /** Returns whether the engine serves the block. */
  has(cid: CID): boolean
}
