import type { CID } from 'multiformats/cid'

/** The blocks that the engine serves to the network: those of live records. */
export interface ServedBlocks {
  /** Returns null if the block must not be served. */
  get(cid: CID): Promise<Uint8Array | null>
  /** Returns whether {@link get} would return the block. */
  has(cid: CID): boolean
}
