import type { CID } from 'multiformats/cid'

/** Blocks of live records, except blocks that are taken down. */
export interface ServedBlocks {
  /** Returns null if the engine must not serve the block. */
  get(cid: CID): Promise<Uint8Array | null>
  has(cid: CID): boolean
}
