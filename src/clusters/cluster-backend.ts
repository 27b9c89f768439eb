import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../content/block-source.ts'
import type { DagIdentity } from '../ipld/cid.ts'

/** Header of requests from another node. A node does not forward content that it keeps for another. */
export const NODE_HEADER = 'holdfast-node'

/** Request to keep a DAG. */
export interface PinJob {
  /**
   * Id of the hold under which the DAG is kept. The backend does not interpret it. `unpin` with the same id releases
   * it. Holds of different roots are independent, even with the same id.
   */
  hold: string
  root: CID
  /** Source of all blocks. If null, the backend must fetch them by itself. Only backends with `sizeOf` receive null. */
  source: BlockSource | null
  /** Providers to ask first: multiaddrs and gateway URLs. */
  origins: readonly string[]
  /** True if the backend lacks blocks of a DAG it reports as pinned. It must accept all blocks again. Default false. */
  isRepair?: boolean | undefined
  signal?: AbortSignal | undefined
  /** Called with the distinct blocks received so far, and their bytes. */
  onProgress?: ((progress: { blocks: number; bytes: number }) => void) | undefined
}

/** Status of a DAG on a backend, and its peers. */
export interface BackendStatus {
  /** `unpinned`: no hold. `pinned`: the backend has all blocks durably. */
  state: 'unpinned' | 'queued' | 'pinning' | 'pinned' | 'failed'
  /** The peers that keep the DAG; empty for a backend without peers. */
  allocations: ReadonlyArray<{ peer: string; state: BackendStatus['state']; error: string | null }>
  /** True if some peers did not answer, so the DAG may be complete although it is not reported as pinned. */
  isUncertain?: boolean
}

/** Pin that carries this node's mark, as listed by a backend. */
export interface MarkedPin extends DagIdentity {
  hold: string
  state: BackendStatus['state']
}

/** Peer of a backend, and its condition. */
export interface BackendPeer {
  peer: string
  /** Free space in bytes; null if unknown. */
  freeBytes: number | null
  /** Why the peer is unusable; null if it works. */
  error: string | null
}

/**
 * Called by a backend immediately before it sends an unpin. Resolves to false if the content is needed again; then
 * nothing may be sent.
 */
export type MayUnpin = () => Promise<boolean>

/**
 * Keeps the content of one or more clusters, in this process or on an external system. Every call can be repeated:
 * pinning under an existing hold and unpinning a missing one succeed.
 */
export interface ClusterBackend {
  /**
   * Pins a DAG under a hold. Resolves when all blocks are durable. No caller verifies this, so a backend for an
   * external system must check it.
   *
   * @throws the reason if the DAG is not pinned; then nothing of it is kept
   */
  pin(job: PinJob): Promise<void>
  /**
   * Releases a hold. The DAG is deleted some time after its last hold is released. Calls `mayUnpin` immediately before
   * each request to unpin, and sends nothing if it resolves to false. The signal aborts after 30 seconds; nothing may
   * be sent after that.
   */
  unpin(hold: string, root: DagIdentity, signal?: AbortSignal, mayUnpin?: MayUnpin): Promise<void>
  /** Returns the status of a DAG under any hold. @throws if the backend does not answer */
  status(root: DagIdentity, signal?: AbortSignal): Promise<BackendStatus>
  /**
   * Yields pages of all pins with this node's mark, in any order. Pins that change during the call may be missing.
   * Without this method, unneeded pins cannot be found.
   *
   * @throws if the list is incomplete
   */
  pins?(signal?: AbortSignal): AsyncIterable<readonly MarkedPin[]>
  /** Returns the peers of the backend. @throws if none answers */
  peers?(signal?: AbortSignal): Promise<readonly BackendPeer[]>
  /**
   * Returns the size of a stored block, as reported by the backend. Its presence tells that the backend can fetch by
   * itself.
   *
   * @throws HoldfastError `NOT_FOUND`, `UNAVAILABLE`
   */
  sizeOf?(cid: CID, signal?: AbortSignal): Promise<number>
  /** Reads stored blocks; null if the backend cannot be read. */
  readonly reader: BlockSource | null
}
