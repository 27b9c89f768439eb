import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../content/block-source.ts'
import type { DagIdentity } from '../ipld/cid.ts'

/** Header that marks a request as sent by another node. The receiving node does not forward such a request. */
export const NODE_HEADER = 'holdfast-node'

/** Request to pin a DAG. */
export interface PinJob {
  /**
   * Id of the hold under which the DAG is pinned. The backend does not interpret the id. Calling `unpin` with the same
   * id releases the hold. Holds of different roots are independent, even if they have the same id.
   */
  hold: string
  root: CID
  /**
   * Source of all blocks. If null, the backend must fetch the blocks by itself. Only backends with `sizeOf` receive
   * null.
   */
  source: BlockSource | null
  /** Providers to ask first, as multiaddrs or gateway URLs. */
  origins: readonly string[]
  /**
   * True if the backend reports the DAG as pinned but lacks blocks. The backend must then accept all blocks again.
   * Default false.
   */
  isRepair?: boolean | undefined
  signal?: AbortSignal | undefined
  /** Called with the number of distinct blocks received so far and their size in bytes. */
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
}

/** Status of a DAG on a backend, and the peers that keep the DAG. */
export interface BackendStatus {
  /** `unpinned` means that no hold exists. `pinned` means that all blocks are stored durably. */
  state: 'unpinned' | 'queued' | 'pinning' | 'pinned' | 'failed'
  /** Peers that keep the DAG. Empty for a backend without peers. */
  allocations: ReadonlyArray<{ peer: string; state: BackendStatus['state']; error: string | null }>
  /** True if some peers did not answer. The DAG may then be complete although `state` is not `pinned`. */
  isUncertain?: boolean
}

/** Pin with this node's mark, as the backend lists it. */
export interface MarkedPin extends DagIdentity {
  hold: string
  state: BackendStatus['state']
}

/** Peer of a backend, and the state of the peer. */
export interface BackendPeer {
  peer: string
  /** Free space in bytes. Null if the free space is unknown. */
  freeBytes: number | null
  /** Reason why the peer is unusable. Null if the peer works. */
  error: string | null
}

/**
 * A backend calls this function immediately before it sends an unpin request. If the function returns false, the
 * content is needed again, and the backend must not send the request.
 */
export type MayUnpin = () => Promise<boolean>

/**
 * Stores the content of one or more clusters, in this process or on an external system. All calls are idempotent. A pin
 * under an existing hold succeeds, and so does an unpin of a missing hold.
 */
export interface ClusterBackend {
  /**
   * Pins a DAG under a hold. Resolves when all blocks are stored durably. A backend for an external system must check
   * this itself, because the caller does not.
   *
   * @throws the reason if the DAG is not pinned. In this case the backend stores nothing.
   */
  pin(job: PinJob): Promise<void>
  /**
   * Releases a hold. The DAG is deleted some time after its last hold is released. The backend calls `mayUnpin`
   * immediately before each unpin request, and sends nothing if `mayUnpin` returns false. The signal aborts after 30
   * seconds. After the abort, the backend must not send a request.
   */
  unpin(hold: string, root: DagIdentity, signal?: AbortSignal, mayUnpin?: MayUnpin): Promise<void>
  /** Returns the status of a DAG, considering all of its holds. @throws if the backend does not answer */
  status(root: DagIdentity, signal?: AbortSignal): Promise<BackendStatus>
  /**
   * Yields pages of all pins with this node's mark, in any order. Pins that change during the call may be missing. If a
   * backend lacks this method, its unneeded pins cannot be found.
   *
   * @throws if the list is incomplete
   */
  pins?(signal?: AbortSignal): AsyncIterable<readonly MarkedPin[]>
  /** Returns the peers of the backend. @throws if no peer answers */
  peers?(signal?: AbortSignal): Promise<readonly BackendPeer[]>
  /**
   * Returns the size in bytes of a stored block, as the backend reports it. A backend has this method if and only if it
   * can fetch content by itself.
   *
   * @throws HoldfastError `NOT_FOUND`, `UNAVAILABLE`
   */
  sizeOf?(cid: CID, signal?: AbortSignal): Promise<number>
  /** Reads stored blocks. Null if the backend cannot be read. */
  readonly reader: BlockSource | null
}
