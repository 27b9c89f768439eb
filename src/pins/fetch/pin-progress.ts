import type { BackendStatus } from '../../clusters/cluster-backend.ts'
import type { CidRequest, PinRecord } from '../pin-types.ts'

/** Progress of a record. Times are milliseconds since the epoch. A null time means that the event has not happened. */
export interface PinProgress {
  record: PinRecord
  /** Time at which the record entered its current status. */
  statusAt: number
  /** Reason for the current status. Null if none is stored. */
  reason: string | null
  /** Number of distinct blocks stored so far. */
  blocks: number
  /** Size in bytes of the blocks stored so far. */
  bytes: number
  /** Number of attempts to complete the record. */
  attempts: number
  /** Time of the next attempt to complete the record. Null if none is planned. */
  nextAttemptAt: number | null
  /** Error of the last failed attempt. Null if no attempt has failed. */
  lastError: string | null
  /** Time at which the node last published a provider record for the content. */
  announcedAt: number | null
  /**
   * Peers that keep the content, as reported by an external cluster. Null if `peers` was not set, or if the cluster did
   * not answer within three seconds.
   */
  peers: BackendStatus['allocations'] | null
}

/** Request for the progress of an account's records of one CID. */
export interface StatusRequest extends CidRequest {
  /** True to also ask external clusters which peers keep the content. Default false. */
  peers?: boolean | undefined
}
