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
  /** Whether all of it is to be sent, also if it is kept there already: some of it was not to be had. Default false. */
  again?: boolean | undefined
  /** Whether the backend has been asked for nothing of it yet, so that it need not look what it has. Default false. */
  isFirst?: boolean | undefined
  /** All blocks of it, where they are few bytes: they may be sent along with those of others. */
  blocks?: ReadonlyArray<{ cid: CID; bytes: Uint8Array }> | undefined
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
  /** Resolves when the whole DAG is kept under the hold, durably. @throws why it is not; nothing of it stays then */
  pin(job: PinJob): Promise<void>
  /** True if `pin` resolves only once the backend, asked anew, says that it keeps the DAG. */
  readonly looksAfterPin?: boolean
  /**
   * True if it asks `mayUnpin` immediately before each request that lets go. Of one that does not say so, each call of
   * `unpin` counts as such a request, which may arrive until a minute after it began, whatever has become of it.
   */
  readonly asksBeforeUnpin?: boolean
  /**
   * Lets go of a hold; the DAG goes, in time, with its last one. What has to be sent is on its way within half a minute, or
   * not sent at all: then the signal is aborted.
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
