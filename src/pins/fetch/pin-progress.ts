import type { BackendStatus } from '../../clusters/cluster-backend.ts'
import type { CidRequest, PinRecord } from '../pin-types.ts'

/** Progress of a record. Times are milliseconds since the epoch, null for never. */
export interface PinProgress {
  record: PinRecord
  /** When the record entered its status, and the reason if there is one. */
  statusAt: number
  reason: string | null
  /** Distinct blocks stored so far, and their bytes. */
  blocks: number
  bytes: number
  /** Attempts to complete the record, the time of the next one, and the last error. */
  attempts: number
  nextAttemptAt: number | null
  lastError: string | null
  /** When the node last published a provider record for the content. */
  announcedAt: number | null
  /**
   * Peers that keep the content, as reported by an external cluster. Null if `peers` was not set or there was no answer
   * within three seconds.
   */
  peers: BackendStatus['allocations'] | null
}

/** Request for the progress of an account's records of one CID. */
export interface StatusRequest extends CidRequest {
  /** Also asks external clusters which peers keep the content. Default false. */
  peers?: boolean | undefined
}
