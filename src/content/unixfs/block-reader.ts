import type { CID } from 'multiformats/cid'
import type { WalkMeans } from '../dag/ordered-walk.ts'
import type { Loaded } from './node-cache.ts'

/** Where blocks are read from, their hashes checked, and within which bounds. */
export interface BlockReader extends WalkMeans {
  get(cid: CID): Promise<Uint8Array>
  /** A block and what it is; memory that others may look at, too. */
  load(cid: CID): Promise<Loaded>
}
