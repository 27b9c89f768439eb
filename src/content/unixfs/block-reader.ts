import type { CID } from 'multiformats/cid'
import type { WalkMeans } from '../dag/ordered-walk.ts'
import type { Loaded } from './node-cache.ts'
import type { AnswerMeans } from './streamed-block.ts'

/** Source of checked blocks, with the limits of a walk. */
export interface BlockReader extends WalkMeans {
  /** Means of an answer, whose client may stall. Default: blocks go out as they are read. */
  readonly means?: AnswerMeans
  get(cid: CID): Promise<Uint8Array>
  /** Returns a block and its decoded node, in memory that other readers may share. */
  load(cid: CID): Promise<Loaded>
}
