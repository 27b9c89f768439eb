import type { PinStatus, StatusReason } from '../domain/pin-status.ts'
import type { DagIdentity } from '../ipld/cid.ts'
import type { WholeDag } from '../ledger/whole-dag.ts'
import type { Brought, NewRecord, PinLimits, RecordRow } from './records.ts'

/** A DAG that is to be fetched, for all records of it on a backend. Times are milliseconds since the epoch. */
export interface FetchRow extends Brought {
  id: number
  /** Whose turn it is. */
  accountId: string
  backendId: number
  codec: number
  multihash: Uint8Array
  /** The staging root that has what has come so far. */
  rootId: number
  /** Where to ask first: multiaddrs and URLs of gateways. */
  origins: string[]
  attempts: number
  nextAttemptAt: number | null
  lastError: string | null
  /** All of it is here; records that wait are still to be told. */
  isWhole: boolean
}

/** A record whose status has changed. */
export interface StatusChange {
  /** As it is now. */
  record: RecordRow
  from: PinStatus
}

/** Who asks for content that is still to come, and what they may have. */
export interface FetchRequest {
  record: NewRecord
  backendId: number
  origins: readonly string[]
  limits: PinLimits
  /** Milliseconds since the epoch. */
  now: number
  /** Writes a record of its own even if an identical one is there. Default false. */
  isAnew?: boolean
}

/** What has become of a request; without a fetch the content is here, or is not tried for any more. */
export interface RequestedPin {
  record: RecordRow
  created: boolean
  fetchId: number | null
  changes: StatusChange[]
}

/** How an attempt has ended without the whole DAG. */
export interface FetchFailure extends Brought {
  reason: StatusReason
  /** Null if nothing more is tried by itself. */
  retryAt: number | null
}

/** Why a record that waited for content that has come did not get it. */
export const OVER_QUOTA: StatusReason = {
  code: 'QUOTA_EXCEEDED',
  text: 'QUOTA_EXCEEDED: the content does not fit into the storage of the plan',
}

/**
 * Pins whose content is still to come: records wait for a fetch, which fills a staging root. Each method that changes
 * something is one transaction, or a short one for every few records that wait. Data in, data out: the clock is the caller's.
 */
export interface Fetches {
  /**
   * Writes a record that waits for content, and the fetch that is to bring it unless there is one already. An
   * identical request that has failed is tried anew.
   *
   * @returns the record as it was written, `queued`; and what changed at once, where its fetch is running already
   * @throws HoldfastError `QUOTA_EXCEEDED` for the number of pins, or of those that wait.
   */
  request(request: FetchRequest): Promise<RequestedPin>
  /** Counts an attempt and has its records `pinning`. Undefined if nobody waits any more: the fetch is then gone. */
  start(fetchId: number, now: number): Promise<{ fetch: FetchRow; changes: StatusChange[] } | undefined>
  fail(fetchId: number, failure: FetchFailure, now: number): Promise<StatusChange[]>
  /** Ends the wait of records that cannot have the content. The fetch stays, for whoever else waits. */
  refuse(recordIds: readonly string[], reason: StatusReason, now: number): Promise<StatusChange[]>
  /** All of the DAG is here: its root completes. The records that wait are told by {@link deliver}. */
  complete(fetchId: number, dag: WholeDag): Promise<void>
  /**
   * Gives the content to some of the records that wait, unless their account's storage is too small by now. The
   * fetch is gone with the last one.
   *
   * @param limits by account; records of others are left waiting
   */
  deliver(
    fetchId: number,
    limits: ReadonlyMap<string, PinLimits>,
    now: number,
  ): Promise<{ changes: StatusChange[]; isDone: boolean }>
  /** Ends an attempt that nobody waited for. If somebody does by now there is another one at once. */
  dropOrRepeat(fetchId: number, now: number): Promise<void>
  /** Gives a fetch up that no record waits for, and that is not being attempted. Returns whether it did. */
  dropIfUnneeded(fetchId: number): Promise<boolean>
  /** Has what an earlier process was fetching start again, attempts kept. */
  resume(now: number): Promise<StatusChange[]>

  get(fetchId: number): Promise<FetchRow | undefined>
  find(backendId: number, dag: DagIdentity): Promise<FetchRow | undefined>
  isWanted(fetchId: number): Promise<boolean>
  /** The accounts whose records wait. */
  waitingAccounts(fetchId: number): Promise<string[]>
  /** The ids of an account's records that wait. */
  waitersOf(fetchId: number, accountId: string): Promise<string[]>
  /** The fetches that an account waits for, and what each has left behind. */
  heldFor(accountId: string): Promise<Array<{ id: number; charge: number }>>
  /**
   * Fetches whose attempt is due: of some accounts, in the order of their ids from the one after `after` on, some each.
   *
   * @returns also the last account looked at; null once there is none beyond
   */
  due(query: { now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: FetchRow[]
    last: string | null
  }>
  /** When the next attempt is due; null if none is. */
  nextDue(): Promise<number | null>
}
