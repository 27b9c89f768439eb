import type { PinStatus, StatusReason } from '../domain/pin-status.ts'
import type { DagIdentity } from '../ipld/cid.ts'
import type { WholeDag } from '../ledger/whole-dag.ts'
import type { Brought, NewRecord, PinLimits, RecordRow } from './records.ts'

/** A DAG to be fetched, on behalf of all records of it on one backend. Times are milliseconds since the epoch. */
export interface FetchRow extends Brought {
  id: number
  /** The account that attempts count against: the first one that requested the DAG. */
  accountId: string
  backendId: number
  codec: number
  multihash: Uint8Array
  /** The staging root with the blocks fetched so far. */
  rootId: number
  /** Sources to ask first: multiaddrs, and URLs of gateways. */
  origins: string[]
  attempts: number
  nextAttemptAt: number | null
  lastError: string | null
  /** True once all blocks are on this node. Records may still have to be updated by {@link Fetches.deliver}. */
  isWhole: boolean
}

/** A record whose status has changed. */
export interface StatusChange {
  /** The record after the change. */
  record: RecordRow
  from: PinStatus
}

/** A request to pin content that is not on this node, with the limits of the account's plan. */
export interface FetchRequest {
  record: NewRecord
  backendId: number
  origins: readonly string[]
  limits: PinLimits
  /** Milliseconds since the epoch. */
  now: number
  /** Creates a new record even if an identical one exists. Default false. */
  isAnew?: boolean
}

/** The outcome of a request. `fetchId` is null if the record already has its content. */
export interface RequestedPin {
  record: RecordRow
  created: boolean
  fetchId: number | null
  changes: StatusChange[]
}

/** Why an attempt ended without the whole DAG. */
export interface FetchFailure extends Brought {
  reason: StatusReason
  /** When to retry; null for no automatic retry. */
  retryAt: number | null
}

/** The status of a record whose content was fetched but exceeds the account's quota. */
export const OVER_QUOTA: StatusReason = {
  code: 'QUOTA_EXCEEDED',
  text: 'QUOTA_EXCEEDED: the content does not fit into the storage of the plan',
}

/**
 * Pins whose content is still missing. Records wait for a fetch, which fills a staging root. Each method that changes
 * something is one transaction, or one per 50 waiting records. The caller passes the current time.
 */
export interface Fetches {
  /**
   * Inserts a waiting record, and its fetch unless one exists. An identical record that has failed is retried instead.
   *
   * @returns the record as inserted, `queued`; and the change to `pinning` if its fetch is already running
   * @throws HoldfastError `QUOTA_EXCEEDED` for the number of pins, or of waiting pins
   */
  request(request: FetchRequest): Promise<RequestedPin>
  /**
   * Counts an attempt and sets its records to `pinning`. Returns undefined if no record waits any more; the fetch is
   * then removed.
   */
  start(fetchId: number, now: number): Promise<{ fetch: FetchRow; changes: StatusChange[] } | undefined>
  fail(fetchId: number, failure: FetchFailure, now: number): Promise<StatusChange[]>
  /** Sets records that may not have the content to `failed`. The fetch stays for the other records. */
  refuse(recordIds: readonly string[], reason: StatusReason, now: number): Promise<StatusChange[]>
  /** Completes the root once all blocks are on this node. {@link deliver} then updates the waiting records. */
  complete(fetchId: number, dag: WholeDag): Promise<void>
  /**
   * Gives the content to some of the waiting records, or fails those whose account has too little storage left. Removes
   * the fetch with the last record.
   *
   * @param limits by account; records of other accounts keep waiting
   */
  deliver(
    fetchId: number,
    limits: ReadonlyMap<string, PinLimits>,
    now: number,
  ): Promise<{ changes: StatusChange[]; isDone: boolean }>
  /** Ends an attempt that no record waited for. If a record waits by now, makes the fetch due immediately. */
  dropOrRepeat(fetchId: number, now: number): Promise<void>
  /** Removes a fetch that is not running, if no record waits for it. Returns whether it did. */
  dropIfUnneeded(fetchId: number): Promise<boolean>
  /** Makes the fetches that an earlier process was running due again, and keeps their attempt counts. */
  resume(now: number): Promise<StatusChange[]>

  get(fetchId: number): Promise<FetchRow | undefined>
  find(backendId: number, dag: DagIdentity): Promise<FetchRow | undefined>
  isWanted(fetchId: number): Promise<boolean>
  waitingAccounts(fetchId: number): Promise<string[]>
  /** Returns the ids of an account's records that wait for a fetch. */
  waitersOf(fetchId: number, accountId: string): Promise<string[]>
  /** Returns the fetches that an account waits for, and the quota bytes of the blocks that each has staged. */
  heldFor(accountId: string): Promise<Array<{ id: number; charge: number }>>
  /**
   * Reads due fetches, at most `each` per account, of the next `accounts` accounts by id, after the account `after`.
   *
   * @returns also the last account read; null if no account follows
   */
  due(query: { now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: FetchRow[]
    last: string | null
  }>
  /** Returns when the next attempt is due; null if none is. */
  nextDue(): Promise<number | null>
}
