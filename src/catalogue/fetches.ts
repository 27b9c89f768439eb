import type { PinStatus, StatusReason } from '../domain/pin-status.ts'
import type { DagIdentity } from '../ipld/cid.ts'
import type { WholeDag } from '../ledger/whole-dag.ts'
import type { Brought, NewRecord, PinLimits, RecordRow } from './records.ts'

/** A DAG to fetch for all records that need it on one backend. Times are milliseconds since the epoch. */
export interface FetchRow extends Brought {
  id: number
  /** The account on whose behalf the attempts run: the first account that requested the DAG. */
  accountId: string
  backendId: number
  codec: number
  multihash: Uint8Array
  /** Id of the staged root to which the blocks fetched so far belong. */
  rootId: number
  /** Sources to ask first: multiaddrs, and URLs of gateways. */
  origins: string[]
  attempts: number
  nextAttemptAt: number | null
  lastError: string | null
  /** True once all blocks are on this node. {@link Fetches.deliver} may still have to update some records. */
  isWhole: boolean
}

/** A record whose status has changed. */
export interface StatusChange {
  /** The record after the change. */
  record: RecordRow
  from: PinStatus
}

/** A request to pin content that is not on this node. It includes the limits of the account's plan. */
export interface FetchRequest {
  record: NewRecord
  backendId: number
  origins: readonly string[]
  limits: PinLimits
  /** The current time, in milliseconds since the epoch. */
  now: number
  /** If true, inserts a new record even if an identical record exists. Default false. */
  isAnew?: boolean
}

/** The outcome of a pin request. `fetchId` is null if the record already has its content. */
export interface RequestedPin {
  record: RecordRow
  created: boolean
  fetchId: number | null
  changes: StatusChange[]
}

/** The failure of an attempt that did not fetch the whole DAG. */
export interface FetchFailure extends Brought {
  reason: StatusReason
  /** When to retry, in milliseconds since the epoch; null for no automatic retry. */
  retryAt: number | null
}

/** The reason of a failed record whose content was fetched but does not fit into the account's quota. */
export const OVER_QUOTA: StatusReason = {
  code: 'QUOTA_EXCEEDED',
  text: 'QUOTA_EXCEEDED: the content does not fit into the storage of the plan',
}

/**
 * Pins whose content is not on the node yet. Their records wait for a fetch, which adds blocks to a staging root.
 * Each method that changes something is one transaction, or one transaction per 50 waiting records. The caller passes
 * the current time.
 */
export interface Fetches {
  /**
   * Inserts a waiting record. Also inserts a fetch if the DAG has none. If an identical record exists and has failed,
   * the call retries that record instead.
   *
   * @returns the record as inserted, with the status `queued`. If the record's fetch is already running, also the
   *   change of the status to `pinning`.
   * @throws HoldfastError `QUOTA_EXCEEDED` if the account has too many pins, or too many waiting pins
   */
  request(request: FetchRequest): Promise<RequestedPin>
  /**
   * Counts an attempt at a fetch and sets the records that wait for the fetch to `pinning`. If no record waits for the
   * fetch any more, removes the fetch and returns undefined.
   */
  start(fetchId: number, now: number): Promise<{ fetch: FetchRow; changes: StatusChange[] } | undefined>
  fail(fetchId: number, failure: FetchFailure, now: number): Promise<StatusChange[]>
  /** Sets records whose accounts may not have the content to `failed`. The fetch stays for the other records. */
  refuse(recordIds: readonly string[], reason: StatusReason, now: number): Promise<StatusChange[]>
  /**
   * Marks the staged root as complete once all blocks are on this node. {@link deliver} then updates the waiting
   * records.
   */
  complete(fetchId: number, dag: WholeDag): Promise<void>
  /**
   * Sets some of the waiting records to `pinned`, or to `failed` if the account has too little storage left. Removes
   * the fetch when no waiting record is left.
   *
   * @param limits the plan limits by account id. Records of accounts that are not in the map keep waiting.
   */
  deliver(
    fetchId: number,
    limits: ReadonlyMap<string, PinLimits>,
    now: number,
  ): Promise<{ changes: StatusChange[]; isDone: boolean }>
  /**
   * Ends an attempt that no record waited for. Removes the fetch, or makes it due immediately if a record waits for it
   * again.
   */
  dropOrRepeat(fetchId: number, now: number): Promise<void>
  /** Removes a fetch that is not running and that no record waits for. Returns whether the fetch no longer exists. */
  dropIfUnneeded(fetchId: number): Promise<boolean>
  /** Makes fetches due again that were running when the process stopped. Does not reset their attempt counts. */
  resume(now: number): Promise<StatusChange[]>

  get(fetchId: number): Promise<FetchRow | undefined>
  find(backendId: number, dag: DagIdentity): Promise<FetchRow | undefined>
  isWanted(fetchId: number): Promise<boolean>
  waitingAccounts(fetchId: number): Promise<string[]>
  /** Returns the ids of the account's records that wait for a fetch. */
  waitersOf(fetchId: number, accountId: string): Promise<string[]>
  /**
   * Returns the fetches that an account's records wait for. `charge` is the number of quota bytes of the blocks staged
   * for the fetch.
   */
  heldFor(accountId: string): Promise<Array<{ id: number; charge: number }>>
  /**
   * Returns due fetches of the next accounts after the account id `after`, in the order of the account ids. Reads
   * `accounts` accounts, and at most `each` fetches of an account.
   *
   * @returns the fetches, and in `last` the last account read; null if no account follows
   */
  due(query: { now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: FetchRow[]
    last: string | null
  }>
  /** Returns when the next attempt of any fetch is due; null if no attempt is scheduled. */
  nextDue(): Promise<number | null>
}
