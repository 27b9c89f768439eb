import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../content/block-source.ts'
import type { DagIdentity } from '../ipld/cid.ts'

/** By what a node says that a request comes from it: what one node keeps for another goes no further. */
export const NODE_HEADER = 'holdfast-node'

/** A DAG that a backend is to keep. */
export interface PinJob {
  /**
   * Under what it is kept: an id that means nothing to the backend, and that it is told when it may let go. The same id
   * of another root is another hold.
   */
  hold: string
  root: CID
  /** Who has all of it; null if the backend has to find it by itself, which only one that has `sizeOf` is asked for. */
  source: BlockSource | null
  /** Where to ask first: multiaddrs and URLs of gateways. */
  origins: readonly string[]
  /** When it may let go by itself, in milliseconds since the epoch; null for never. */
  ends: number | null
  /** True if the backend lacks blocks of a DAG that it says it has: it takes all of them again. Default false. */
  isRepair?: boolean | undefined
  signal?: AbortSignal | undefined
  /** Called with the distinct blocks that have been taken in so far, and their bytes. */
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
}

/** How far a DAG is on a backend, and where it lies there. */
export interface BackendStatus {
  /** `unpinned`: it does not have it. `pinned`: it has all of it, durably. */
  state: 'unpinned' | 'queued' | 'pinning' | 'pinned' | 'failed'
  /** A peer of the backend each; one that has no peers to tell of has none. */
  allocations: ReadonlyArray<{ peer: string; state: BackendStatus['state']; error: string | null }>
  /** True if peers could not be asked, with which all of it may be there: it is not known to be missing. */
  isUncertain?: boolean
}

/** A hold of ours that a backend has by its own account. */
export interface MarkedPin extends DagIdentity {
  hold: string
  state: BackendStatus['state']
}

/** A peer of a backend, as it is now. */
export interface BackendPeer {
  peer: string
  /** Room that is left there, in bytes; null where nobody tells. */
  freeBytes: number | null
  /** Why it is of no use just now; null if it is. */
  error: string | null
}

/**
 * Asked by a backend immediately before it sends what cannot be taken back: false if the content has come to be needed,
 * and nothing is to be sent.
 */
export type MayUnpin = () => Promise<boolean>

/**
 * What keeps the content of one or more clusters, in this process or elsewhere. Every call may be made again: what is
 * kept under a hold already is kept, and a hold that is gone is let go.
 */
export interface ClusterBackend {
  /**
   * Resolves when the whole DAG is kept under the hold, durably. Nobody checks that afterwards, so a backend that asks
   * another system looks itself. @throws why it is not kept; nothing of it stays then
   */
  pin(job: PinJob): Promise<void>
  /**
   * Lets go of a hold. The DAG goes with its last hold, in time. Awaits `mayUnpin` immediately before each request that
   * lets go, and sends nothing if that is false. The signal is aborted after 30 seconds; nothing is sent after that.
   */
  unpin(hold: string, root: DagIdentity, signal?: AbortSignal, mayUnpin?: MayUnpin): Promise<void>
  /** How far a DAG is there, under whichever holds. @throws why it cannot be told */
  status(root: DagIdentity, signal?: AbortSignal): Promise<BackendStatus>
  /**
   * Everything that it keeps under our mark, page by page, in no order; never what carries none. What comes or goes
   * meanwhile may be among it or not. Of a backend without it nobody can tell what it keeps for nobody.
   *
   * @throws why it cannot be told: what has been told until then is not all
   */
  pins?(signal?: AbortSignal): AsyncIterable<readonly MarkedPin[]>
  /** Who keeps it all, each as it is now. @throws why nobody of them could be asked */
  peers?(signal?: AbortSignal): Promise<readonly BackendPeer[]>
  /**
   * Of a backend that fetches by itself what it is given no source for: bytes of a block that it keeps, in its own words.
   *
   * @throws HoldfastError `NOT_FOUND`, `UNAVAILABLE`
   */
  sizeOf?(cid: CID, signal?: AbortSignal): Promise<number>
  /** Null if what it keeps cannot be read through it. */
  readonly reader: BlockSource | null
}
