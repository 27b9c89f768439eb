import type { PinStatus, StatusReason } from '../domain/pin-status.ts'
import type { DagIdentity } from '../ipld/cid.ts'
import type { WholeDag } from '../ledger/whole-dag.ts'
import type { Brought, NewRecord, PinLimits, RecordRow } from './records.ts'

/** A DAG to fetch for all records that need it on one backend. Times are milliseconds since the epoch. */
export interface FetchRow extends Brought {
  id: number
  /** The first account that requested the DAG. */
  accountId: string
  backendId: number
  codec: number
  multihash: Uint8Array
  /** Owner of the root. Only its records share the fetch: 0 for public records. */
  owner: number
  /** Number of the account whose private blocks the fetch may use: the owner, or 0 for public blocks only. */
  possessor: number
  /** Id of the staged root of the blocks fetched so far. */
  rootId: number
  /** Sources to ask first: multiaddrs, and URLs of gateways. */
  origins: string[]
  attempts: number
  nextAttemptAt: number | null
  lastError: string | null
  /** True once all blocks are on this node, even if some records still wait for {@link Fetches.deliver}. */
  isWhole: boolean
}

/** A record whose status has changed. */
export interface StatusChange {
  /** The record after the change. */
  record: RecordRow
  from: PinStatus
}

/** A request to pin content that is not on this node. */
export interface FetchRequest {
  record: NewRecord
  /** Owner of the root to fetch. */
  owner: number
  /** Default: the owner. 0 if the request may use public blocks only. A later request of the owner lifts this limit. */
  possessor?: number
  backendId: number
  origins: readonly string[]
  limits: PinLimits
  now: number
  /** If true, inserts a new record even if an identical record exists. */
  isAnew?: boolean
}

/** The outcome of a pin request. `fetchId` is null if the record already has its content. */
export interface RequestedPin {
  record: RecordRow
  created: boolean
  fetchId: number | null
  changes: StatusChange[]
}

/** The failure of an attempt to fetch a DAG. */
export interface FetchFailure extends Brought {
  reason: StatusReason
  /** In milliseconds since the epoch; null for no automatic retry. */
  retryAt: number | null
}

/** The reason of a record whose fetched content does not fit into the account's quota. */
export const OVER_QUOTA: StatusReason = {
  code: 'QUOTA_EXCEEDED',
  text: 'QUOTA_EXCEEDED: the content does not fit into the storage of the plan',
}

/**
 * Pins whose content is not on the node yet.
 * Each method that changes something is one transaction, or one transaction per 50 waiting records.
 */
export interface Fetches {
  /**
   * Inserts a waiting record, and a fetch if the DAG has none. If an identical record has failed, retries that record
   * instead.
   *
   * @returns the record with the status `queued`, and the change to `pinning` if its fetch is already running
   * @throws HoldfastError `QUOTA_EXCEEDED` if the account has too many pins, or too many waiting pins
   */
  request(request: FetchRequest): Promise<RequestedPin>
  /**
   * Counts an attempt and sets the waiting records to `pinning`. If no record waits for the fetch any more, removes the
   * fetch and returns undefined.
   */
  start(fetchId: number, now: number): Promise<{ fetch: FetchRow; changes: StatusChange[] } | undefined>
  fail(fetchId: number, failure: FetchFailure, now: number): Promise<StatusChange[]>
  /** Sets records to `failed` if their accounts may not have the content. The fetch stays for the other records. */
  refuse(recordIds: readonly string[], reason: StatusReason, now: number): Promise<StatusChange[]>
  /** Marks the staged root as complete. {@link deliver} then updates the waiting records. */
  complete(fetchId: number, dag: WholeDag): Promise<void>
  /**
   * Sets some of the waiting records to `pinned`, or to `failed` if the account has too little storage left. Removes
   * the fetch when no waiting record is left.
   *
   * @param limits the plan limits by account id. Records of other accounts keep waiting.
   */
  deliver(
    fetchId: number,
    limits: ReadonlyMap<string, PinLimits>,
    now: number,
  ): Promise<{ changes: StatusChange[]; isDone: boolean }>
  /**
   * Ends an attempt that no record waited for. Removes the fetch, or makes it due if a record waits for the fetch
   * again.
   */
  dropOrRepeat(fetchId: number, now: number): Promise<void>
  /** Removes a fetch that neither runs nor has a waiting record. Returns whether the fetch no longer exists. */
  dropIfUnneeded(fetchId: number): Promise<boolean>
  /** Makes fetches due that were running when the process stopped, without resetting their attempt counts. */
  resume(now: number): Promise<StatusChange[]>

  get(fetchId: number): Promise<FetchRow | undefined>
  find(backendId: number, dag: DagIdentity, owner: number): Promise<FetchRow | undefined>
  isWanted(fetchId: number): Promise<boolean>
  waitingAccounts(fetchId: number): Promise<string[]>
  waitersOf(fetchId: number, accountId: string): Promise<string[]>
  /** Returns the fetches that the account waits for, with the quota bytes of their staged blocks. */
  heldFor(accountId: string): Promise<Array<{ id: number; charge: number }>>
  /**
   * Returns due fetches of up to `accounts` accounts whose ids follow `after`, at most `each` per account, in the order
   * of the account ids.
   *
   * @returns the fetches, and in `last` the last account read; null if no account follows
   */
  due(query: { now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: FetchRow[]
    last: string | null
  }>
  nextDue(): Promise<number | null>
}
