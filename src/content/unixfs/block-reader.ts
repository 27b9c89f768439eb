import type { CID } from 'multiformats/cid'
import type { WalkMeans } from '../dag/ordered-walk.ts'
import type { Loaded } from './node-cache.ts'
import type { AnswerMeans } from './streamed-block.ts'

export interface BlockReader extends WalkMeans {
  /** Memory and time limits for a client that may stall. If absent, blocks are sent as soon as they are read. */
  readonly means?: AnswerMeans
  get(cid: CID): Promise<Uint8Array>
  /** Returns the size in bytes, or null if the size is unknown before a read. */
  sizeOf?(cid: CID): number | null
  /** Returns a block and its decoded node. Other readers may share this memory, so the caller must not change it. */
  load(cid: CID): Promise<Loaded>
}
