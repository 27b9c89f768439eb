import type { DagIdentity } from '../ipld/cid.ts'
import type { StatusChange } from './fetches.ts'

/**
 * A DAG of a cluster that is kept elsewhere: there is one for each DAG of each such backend that is needed there, or
 * was and has still to be let go of. Times are milliseconds since the epoch.
 */
export interface PlacementRow extends DagIdentity {
  id: number
  backendId: number
  /** Whose turn it is: the account that asked last. */
  accountId: string
  /** Whether anything needs it there. */
  isWanted: boolean
  /** Grows each time that it begins or ceases to be wanted. */
  generation: number
  /** Whether the backend has been seen to keep it since it is wanted. Until then all of it is held here. */
  isPlaced: boolean
  attempts: number
  /** When the next attempt is due; null once there is nothing to do. */
  dueAt: number | null
  lastError: string | null
  /** Until when a request to let go of it, of which the end is unknown, may still arrive there. */
  unpinUntil: number
  /** Whether all of it is to be sent, also if the backend says that it has it. */
  isAnew: boolean
}

/** How much a backend has still to be told, each counted up to {@link MOST_WAITING}. */
export interface PlacementLag {
  /** DAGs that it is to keep and was not seen to. */
  pins: number
  /** DAGs that it is to let go of. */
  unpins: number
  /** Since when the oldest of `pins` waits; null if there is none. */
  since: number | null
}

/** Up to which what waits is counted. */
export const MOST_WAITING = 10_000
/** Whose turn it is of what no account has asked for: in front of all ids of accounts. */
export const NOBODY = '-'

/** What a job was started for; it is another's once either has changed. */
export type PlacementKey = Pick<PlacementRow, 'id' | 'generation'>

/**
 * What backends elsewhere are to be told. A row follows its roots in the transaction that changes these, so that a
 * commit, a removal and an expiry all come by here. Each method is one transaction or, where it says so, one step.
 */
export interface Placements {
  find(backendId: number, dag: DagIdentity): Promise<PlacementRow | undefined>
  /**
   * What is due on a backend: of some accounts, in the order of their ids from the one after `after` on, some each.
   *
   * @returns also the last account looked at; null once there is none beyond
   */
  due(query: { backendId: number; now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: PlacementRow[]
    last: string | null
  }>
  /**
   * Has a backend keep a DAG that it fetches by itself, of which nothing is here: it is wanted there from now on, and not
   * due, since whoever calls this tells the backend. It ceases to be wanted with the fetch that waits for it, unless all
   * of it is here by then, and with {@link withdraw}.
   */
  entrust(backendId: number, dag: DagIdentity, by: { accountId: string; now: number }): Promise<PlacementRow>
  /** The backend is to let go of what was left to it, unless it is here by now, whole. */
  withdraw(backendId: number, dag: DagIdentity): Promise<void>
  /** When the next attempt on a backend is due; null if none is. */
  nextDue(backendId: number): Promise<number | null>
  /** Counts an attempt. Undefined if the row is no longer what the key says. */
  begin(key: PlacementKey): Promise<PlacementRow | undefined>
  /**
   * Reads the row anew, immediately before it is sent that the backend may let go, and notes until when that may
   * arrive. Returns whether nothing has come to need it since.
   */
  beginUnpin(key: PlacementKey, until: number): Promise<boolean>
  /** The backend keeps it: one step of the records that wait become `pinned`. Whether those were the last. */
  placed(key: PlacementKey, now: number): Promise<{ changes: StatusChange[]; isDone: boolean }>
  /**
   * The backend has let go, and said so, or nothing was sent. The row is gone, unless it is wanted again: then that is due.
   *
   * @param at.until when nothing that an earlier attempt has sent can arrive any more: before that the row stays, and
   * is not due
   */
  released(key: PlacementKey, at: { now: number; until: number }): Promise<void>
  /** An attempt has failed, or is to be repeated. Records stay `pinning`. */
  retry(key: PlacementKey, retry: { at: number; reason: string | null }): Promise<void>
  /** The next by id, of all backends, to go through all of them. */
  after(id: number, limit: number): Promise<PlacementRow[]>
  /**
   * The backend has not, or not whole, what it was seen to keep: it is due at once, to be sent anew, and its records are
   * `pinning` until then. Several steps; does nothing if the row is no longer what the key says, or not placed.
   */
  lost(key: PlacementKey, lost: { now: number; reason: string }): Promise<StatusChange[]>
  /**
   * The backend keeps something for us that nothing is known of: it is to let go of it, as of what is no longer needed.
   * False if something is known.
   */
  disown(backendId: number, dag: DagIdentity, now: number): Promise<boolean>
  /** What is due on a backend or waits there. */
  lag(backendId: number): Promise<PlacementLag>
}
