import type { DagIdentity } from '../ipld/cid.ts'
import type { StatusChange } from './fetches.ts'

/**
 * A DAG on an external backend, such as Kubo. The row exists until the backend no longer has to keep the DAG and has
 * unpinned it. Times are milliseconds since the epoch.
 */
export interface PlacementRow extends DagIdentity {
  id: number
  backendId: number
  /** The account on whose behalf the attempts run: the last account that requested the DAG. */
  accountId: string
  /** True if any record or fetch needs the DAG on the backend. */
  isWanted: boolean
  /** Incremented each time `isWanted` changes. */
  generation: number
  /**
   * True if the backend has confirmed the DAG since the DAG became wanted. Until this confirmation, this node keeps all
   * blocks, unless the backend fetches the blocks itself.
   */
  isPlaced: boolean
  attempts: number
  /** When the next attempt is due; null if no work is left. */
  dueAt: number | null
  lastError: string | null
  /** When an unpin request whose outcome is unknown can no longer reach the backend; 0 if there is no such request. */
  unpinUntil: number
  /** True if all blocks must be sent again, even if the backend reports that it has the DAG. */
  isAnew: boolean
}

/** The backlog of a backend. `pins` and `unpins` never exceed {@link MOST_WAITING}. */
export interface PlacementLag {
  /** Number of DAGs that the backend should keep and has not confirmed. */
  pins: number
  /** Number of DAGs that the backend should unpin. */
  unpins: number
  /** When the oldest of the DAGs in `pins` became wanted; null if `pins` is 0. */
  since: number | null
}

/** Upper bound for counts of waiting jobs. Counting stops at this number. */
export const MOST_WAITING = 10_000
/** Account id of jobs that no account requested. It sorts before all real ids. */
export const NOBODY = '-'

/** A placement and one of its generations. Methods refuse a key whose generation is out of date. */
export type PlacementKey = Pick<PlacementRow, 'id' | 'generation'>

/**
 * The DAGs that external backends should keep. A row changes in the same transaction as the roots and records that need
 * the DAG. Each method is one transaction unless stated otherwise.
 */
export interface Placements {
  find(backendId: number, dag: DagIdentity): Promise<PlacementRow | undefined>
  /** Returns due placements of a backend. The other parameters and the result are as in `Fetches.due`. */
  due(query: { backendId: number; now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: PlacementRow[]
    last: string | null
  }>
  /**
   * Marks a DAG as wanted on a backend that fetches it from the network itself. No job becomes due, because the caller
   * sends the pin request.
   * The mark ends with {@link withdraw}, or when the fetch that waits for the DAG is removed. The mark stays if this
   * node has the whole DAG by then.
   */
  entrust(backendId: number, dag: DagIdentity, by: { accountId: string; now: number }): Promise<PlacementRow>
  /** Ends the mark that {@link entrust} set: the DAG becomes unwanted, unless this node has the whole DAG by now. */
  withdraw(backendId: number, dag: DagIdentity): Promise<void>
  /** Returns when the next attempt on a backend is due; null if no attempt is scheduled. */
  nextDue(backendId: number): Promise<number | null>
  /** Counts an attempt and returns the placement. Returns undefined if the generation has changed. */
  begin(key: PlacementKey): Promise<PlacementRow | undefined>
  /**
   * Checks immediately before an unpin request whether the DAG is still unwanted. If the DAG is unwanted, stores the
   * time until which the request may arrive and returns true. If the DAG is wanted again, returns false.
   */
  beginUnpin(key: PlacementKey, until: number): Promise<boolean>
  /**
   * Marks a DAG as confirmed by the backend, and sets some of the waiting records to `pinned`. Sets `isDone` to true if
   * no waiting record is left.
   */
  placed(key: PlacementKey, now: number): Promise<{ changes: StatusChange[]; isDone: boolean }>
  /**
   * Removes the row after the backend has confirmed an unpin, or if no request was sent. If the DAG is wanted again,
   * its pin becomes due instead.
   *
   * @param at.until when requests of earlier attempts can no longer arrive. Until then the row stays and is not due.
   */
  released(key: PlacementKey, at: { now: number; until: number }): Promise<void>
  /** Schedules another attempt. The waiting records keep the status `pinning`. */
  retry(key: PlacementKey, retry: { at: number; reason: string | null }): Promise<void>
  /** Returns up to `limit` placements with ids greater than `id`, in the order of their ids, across all backends. */
  after(id: number, limit: number): Promise<PlacementRow[]>
  /**
   * Handles the loss of blocks of a DAG on its backend. Makes the placement due, marks all blocks to be sent again, and
   * sets the records to `pinning`.
   * Runs several transactions. Does nothing if the generation has changed or the backend never confirmed the DAG.
   */
  lost(key: PlacementKey, lost: { now: number; reason: string }): Promise<StatusChange[]>
  /**
   * Schedules the unpin of a DAG that is pinned on the backend but unknown to the catalogue. Returns false if the
   * catalogue knows the DAG.
   */
  disown(backendId: number, dag: DagIdentity, now: number): Promise<boolean>
  lag(backendId: number): Promise<PlacementLag>
}
