import type { DagIdentity } from '../ipld/cid.ts'
import type { StatusChange } from './fetches.ts'

/**
 * A DAG on an external backend, such as Kubo. The row exists while the backend must keep the DAG, and afterwards until
 * the backend has unpinned it. Times are milliseconds since the epoch.
 */
export interface PlacementRow extends DagIdentity {
  id: number
  backendId: number
  /** The account that attempts count against: the last one that requested the DAG. */
  accountId: string
  /** True if any record or fetch needs the DAG on the backend. */
  isWanted: boolean
  /** Incremented each time `isWanted` changes. */
  generation: number
  /**
   * True once the backend has confirmed the DAG since it became wanted. Until then this node keeps all blocks, unless
   * the backend fetches them itself.
   */
  isPlaced: boolean
  attempts: number
  /** When the next attempt is due; null if nothing is left to do. */
  dueAt: number | null
  lastError: string | null
  /** Until when an unpin request without a known outcome may still reach the backend; 0 if there is none. */
  unpinUntil: number
  /** True if all blocks must be sent again, even if the backend reports that it has the DAG. */
  isAnew: boolean
}

/** The backlog of a backend. Each number is counted up to {@link MOST_WAITING}. */
export interface PlacementLag {
  /** DAGs that the backend should keep and has not confirmed. */
  pins: number
  /** DAGs that the backend should unpin. */
  unpins: number
  /** When the oldest of `pins` became wanted; null if there is none. */
  since: number | null
}

/** Upper bound for counts of waiting work. */
export const MOST_WAITING = 10_000
/** Account id for work that no account requested. It sorts before all real ids. */
export const NOBODY = '-'

/** Identifies a placement at one generation. Work for an older generation is refused. */
export type PlacementKey = Pick<PlacementRow, 'id' | 'generation'>

/**
 * The DAGs that external backends should keep. A row changes in the same transaction as the roots and records that need
 * it. Each method is one transaction unless stated otherwise.
 */
export interface Placements {
  find(backendId: number, dag: DagIdentity): Promise<PlacementRow | undefined>
  /** Reads due placements of a backend; see `Fetches.due`. */
  due(query: { backendId: number; now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: PlacementRow[]
    last: string | null
  }>
  /**
   * Marks a DAG as wanted on a backend that fetches it from the network itself. No job becomes due, because the caller
   * sends the pin request. The mark ends with {@link withdraw}, or with the fetch that waits for the DAG, unless this
   * node has the whole DAG by then.
   */
  entrust(backendId: number, dag: DagIdentity, by: { accountId: string; now: number }): Promise<PlacementRow>
  /** Ends {@link entrust}: marks the DAG as unwanted, unless this node has the whole DAG by now. */
  withdraw(backendId: number, dag: DagIdentity): Promise<void>
  /** Returns when the next attempt on a backend is due; null if none is. */
  nextDue(backendId: number): Promise<number | null>
  /** Counts an attempt. Returns undefined if the generation has changed. */
  begin(key: PlacementKey): Promise<PlacementRow | undefined>
  /**
   * Checks immediately before an unpin request that the DAG is still unwanted, and stores until when the request may
   * arrive. Returns false if the DAG is wanted again.
   */
  beginUnpin(key: PlacementKey, until: number): Promise<boolean>
  /**
   * Stores that the backend keeps the DAG, and sets some of the waiting records to `pinned`. `isDone` is true if none
   * is left.
   */
  placed(key: PlacementKey, now: number): Promise<{ changes: StatusChange[]; isDone: boolean }>
  /**
   * Removes the row after the backend confirmed an unpin, or nothing was sent. If the DAG is wanted again, its pin
   * becomes due.
   *
   * @param at.until when requests of earlier attempts can no longer arrive; until then the row stays and is not due
   */
  released(key: PlacementKey, at: { now: number; until: number }): Promise<void>
  /** Schedules another attempt. Records stay `pinning`. */
  retry(key: PlacementKey, retry: { at: number; reason: string | null }): Promise<void>
  /** Returns the next placements by id, across all backends. */
  after(id: number, limit: number): Promise<PlacementRow[]>
  /**
   * Handles a backend that no longer has the whole DAG. Makes the placement due, marks all blocks to be sent again, and
   * sets the records to `pinning`. Takes several transactions. Does nothing if the generation has changed or the DAG
   * was not placed.
   */
  lost(key: PlacementKey, lost: { now: number; reason: string }): Promise<StatusChange[]>
  /**
   * Schedules the unpin of a DAG that the backend keeps although the catalogue does not know it. Returns false if it
   * does know it.
   */
  disown(backendId: number, dag: DagIdentity, now: number): Promise<boolean>
  lag(backendId: number): Promise<PlacementLag>
}
