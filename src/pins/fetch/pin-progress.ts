import type { BackendStatus } from '../../clusters/cluster-backend.ts'
import type { CidRequest, PinRecord } from '../pin-types.ts'

/** How far a record is. Times are milliseconds since the epoch, null for never. */
export interface PinProgress {
  record: PinRecord
  /** When the record came into its state, and why if there is a reason. */
  statusAt: number
  reason: string | null
  /** Distinct blocks and their bytes that are here. */
  blocks: number
  bytes: number
  /** How often it has been tried to get the rest, when it is tried again, and why it last did not come. */
  attempts: number
  nextAttemptAt: number | null
  lastError: string | null
  /** When the network was last told who has it. */
  announcedAt: number | null
  /**
   * The peers of a cluster that is kept elsewhere, as it tells of them; null where it was not asked, or did not answer
   * within three seconds.
   */
  peers: BackendStatus['allocations'] | null
}

/** How far an account's records of a content are. */
export interface StatusRequest extends CidRequest {
  /** Also ask clusters that are kept elsewhere where it lies. Default false. */
  peers?: boolean | undefined
}
