import type { BackendStatus } from '../../clusters/cluster-backend.ts'
import type { CidRequest, PinRecord } from '../pin-types.ts'

/** Progress of a record. Times are ms since the epoch. A null time means that the event has not happened. */
export interface PinProgress {
  record: PinRecord
  /** Time at which the record entered its current status. */
  statusAt: number
  reason: string | null
  /** Distinct blocks stored so far. */
  blocks: number
  bytes: number
  attempts: number
  nextAttemptAt: number | null
  lastError: string | null
  announcedAt: number | null
  /**
   * True if a cluster on another system keeps the content. If another node keeps the cluster, this is known only with
   * `peers`, or while the record is `pinning`.
   */
  isExternal: boolean
  /**
   * Peers that keep the content, or nodes, for a cluster with several copies. Null if `peers` was not set, or if the
   * external cluster did not answer within three seconds. Also null if the node that keeps the cluster is away.
   */
  peers: BackendStatus['allocations'] | null
}

/** Request for the progress of an account's records of one CID. */
export interface StatusRequest extends CidRequest {
  /** True to also ask which peers of external clusters, or which nodes, keep the content. */
  peers?: boolean | undefined
}
