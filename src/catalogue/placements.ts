import type { DagIdentity } from '../ipld/cid.ts'
import type { StatusChange } from './fetches.ts'

/**
 * A DAG on an external backend, such as Kubo. The row exists until the backend has unpinned the DAG. Times are
 * milliseconds since the epoch.
 */
export interface PlacementRow extends DagIdentity {
  id: number
  backendId: number
  /** The last account that requested the DAG. */
  accountId: string
  /** True if any record or fetch needs the DAG. */
  isWanted: boolean
  /** Incremented each time `isWanted` changes. */
  generation: number
  /**
   * True if the backend has confirmed the DAG since the DAG became wanted. Until then, this node keeps all blocks,
   * unless the backend fetches the blocks itself.
   */
  isPlaced: boolean
  attempts: number
  /** When the next attempt is due; null if no work is left. */
  dueAt: number | null
  lastError: string | null
  /** When an unpin request whose outcome is unknown can no longer reach the backend; 0 if there is no such request. */
  unpinUntil: number
  /** True if all blocks must be sent again, even if the backend reports the DAG. */
  isAnew: boolean
}

/** The backlog of a backend. The counts stop at {@link MOST_WAITING}. */
export interface PlacementLag {
  /** Number of DAGs to keep that the backend has not confirmed. */
  pins: number
  unpins: number
  /** When the oldest DAG in `pins` became wanted; null if `pins` is 0. */
  since: number | null
}

/** Upper bound for counts of waiting jobs. */
export const MOST_WAITING = 10_000
/** Account id of jobs that no account requested. It sorts before all real ids. */
export const NOBODY = '-'

/** A placement and one of its generations. Methods refuse an outdated generation. */
export type PlacementKey = Pick<PlacementRow, 'id' | 'generation'>

/**
 * The DAGs that external backends should keep. Each method is one transaction unless stated otherwise.
 * A row changes in the same transaction as the roots and records that need the DAG.
 */
export interface Placements {
  find(backendId: number, dag: DagIdentity): Promise<PlacementRow | undefined>
  /**
   * Returns the placement of a record's content, which may be on a backend of another node.
   *
   * @param rootId the root in the catalogue
   */
  ofRoot(rootId: number): Promise<PlacementRow | undefined>
  /** Returns due placements of a backend. The fields are as in `Fetches.due`. */
  due(query: { backendId: number; now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: PlacementRow[]
    last: string | null
  }>
  /**
   * Marks a DAG as wanted on a backend that fetches the DAG from the network itself. No job becomes due, because the
   * caller sends the pin request.
   * The mark ends with {@link withdraw}, or when the fetch that waits for the DAG is removed.
   */
  entrust(backendId: number, dag: DagIdentity, by: { accountId: string; now: number }): Promise<PlacementRow>
  /** Ends the mark that {@link entrust} set, unless this node has the whole DAG by now. */
  withdraw(backendId: number, dag: DagIdentity): Promise<void>
  nextDue(backendId: number): Promise<number | null>
  /** Counts an attempt. Returns undefined if the generation has changed. */
  begin(key: PlacementKey): Promise<PlacementRow | undefined>
  /**
   * Checks immediately before an unpin request that the DAG is still unwanted, and stores the time until which the
   * request may arrive. Returns false if the DAG is wanted again.
   */
  beginUnpin(key: PlacementKey, until: number): Promise<boolean>
  /**
   * Marks a DAG as confirmed by the backend, and updates some of the waiting records. Sets `isDone` once no waiting
   * record is left.
   */
  placed(key: PlacementKey, now: number): Promise<{ changes: StatusChange[]; isDone: boolean }>
  /**
   * Removes the row after a confirmed unpin, or if no request was sent. If the DAG is wanted again, makes its pin due
   * instead.
   *
   * @param at.until when requests of earlier attempts can no longer arrive. Until then the row stays and is not due.
   */
  released(key: PlacementKey, at: { now: number; until: number }): Promise<void>
  /** Schedules another attempt. The waiting records keep the status `pinning`. */
  retry(key: PlacementKey, retry: { at: number; reason: string | null }): Promise<void>
  /** Returns placements of all backends with ids greater than `id`, in the order of their ids. */
  after(id: number, limit: number): Promise<PlacementRow[]>
  /**
   * Makes a placement due whose backend has lost blocks, and sets the records to `pinning`. All blocks are sent again.
   * Runs several transactions. Does nothing if the generation has changed or the backend never confirmed the DAG.
   */
  lost(key: PlacementKey, lost: { now: number; reason: string }): Promise<StatusChange[]>
  /**
   * Schedules the unpin of a DAG that is pinned on the backend but unknown to the catalogue. Returns false if the DAG
   * is known.
   */
  disown(backendId: number, dag: DagIdentity, now: number): Promise<boolean>
  lag(backendId: number): Promise<PlacementLag>
}
