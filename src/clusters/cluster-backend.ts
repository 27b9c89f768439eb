import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../content/block-source.ts'
import type { DagIdentity } from '../ipld/cid.ts'

/** Marks a request of another node, which the receiving node does not forward. */
export const NODE_HEADER = 'holdfast-node'

/** Request to pin a DAG. */
export interface PinJob {
  /**
   * Id of the hold under which the DAG is pinned. Holds of different roots are independent, even if they have the same
   * id.
   */
  hold: string
  root: CID
  /** If null, the backend must fetch the blocks by itself. Only backends with `sizeOf` receive null. */
  source: BlockSource | null
  /** Providers to ask first, as multiaddrs or gateway URLs. */
  origins: readonly string[]
  /** True if the backend reports the DAG as pinned but lacks blocks. The backend must then accept all blocks again. */
  isRepair?: boolean | undefined
  signal?: AbortSignal | undefined
  /** Called with the number and size in bytes of the distinct blocks received so far. */
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
}

/** Status of a DAG on a backend, and the peers that keep the DAG. */
export interface BackendStatus {
  /** `unpinned` means that no hold exists. `pinned` means that all blocks are stored durably. */
  state: 'unpinned' | 'queued' | 'pinning' | 'pinned' | 'failed'
  /** Empty for a backend without peers. */
  allocations: ReadonlyArray<{ peer: string; state: BackendStatus['state']; error: string | null }>
  /** True if some peers did not answer. The DAG may then be complete although `state` is not `pinned`. */
  isUncertain?: boolean
}

/** Pin with this node's mark, as the backend lists it. */
export interface MarkedPin extends DagIdentity {
  hold: string
  state: BackendStatus['state']
}

/** Peer of a backend. */
export interface BackendPeer {
  peer: string
  freeBytes: number | null
  /** Reason why the peer is unusable. Null if the peer works. */
  error: string | null
}

/** Asks, immediately before an unpin request, whether to send it. False means that the content is needed again. */
export type MayUnpin = () => Promise<boolean>

/** Stores the content of one or more clusters, in this process or on an external system. All calls are idempotent. */
export interface ClusterBackend {
  /**
   * Pins a DAG durably. A backend for an external system must check the durability itself.
   * @throws the reason if the DAG is not pinned. In this case the backend stores nothing.
   */
  pin(job: PinJob): Promise<void>
  /**
   * Releases a hold. The backend calls `mayUnpin` immediately before each unpin request. The signal aborts after 30
   * seconds. After the abort, the backend must not send a request.
   */
  unpin(hold: string, root: DagIdentity, signal?: AbortSignal, mayUnpin?: MayUnpin): Promise<void>
  /** Returns the status of a DAG, across all of its holds. @throws if the backend does not answer */
  status(root: DagIdentity, signal?: AbortSignal): Promise<BackendStatus>
  /**
   * Yields pages of all pins with this node's mark, in any order. Pins that change during the call may be missing. If a
   * backend lacks this method, its unneeded pins cannot be found.
   * @throws if the list is incomplete
   */
  pins?(signal?: AbortSignal): AsyncIterable<readonly MarkedPin[]>
  /** @throws if no peer answers */
  peers?(signal?: AbortSignal): Promise<readonly BackendPeer[]>
  /**
   * Returns the size in bytes of a stored block. A backend has this method if and only if it can fetch content by
   * itself.
   * @throws HoldfastError `NOT_FOUND`, `UNAVAILABLE`
   */
  sizeOf?(cid: CID, signal?: AbortSignal): Promise<number>
  /** Null if the backend cannot be read. */
  readonly reader: BlockSource | null
}
