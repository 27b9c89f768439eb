import type { CID } from 'multiformats/cid'

/** What the network may see of the engine's blocks: those that some live record needs, and no others. */
export interface ServedBlocks {
  /** Null for a block that may not be served. */
  get(cid: CID): Promise<Uint8Array | null>
  /** Whether {@link get} would give it. */
  has(cid: CID): boolean
}
