import type { DagIdentity } from '../../domain/cid.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { checkTransition } from '../../domain/pin-status.ts'
import type { RootTable, WholeDag } from '../../ledger/root-table.ts'
import type { RecordRow, RecordTable } from './record-table.ts'

/** A record about to be made: all of a row but what the transaction finds out. */
export type NewRecord = Omit<RecordRow, 'rootId' | 'dagSize' | 'fetchId'>

/** The limits of a plan that a new record meets; null for none. */
export interface PinLimits {
  maxPins: number | null
  maxStorageBytes: number | null
}

/** A record as a completion left it. */
export interface Completed {
  record: RecordRow
  /** False if an identical live record was there already. */
  created: boolean
  /** The record as it was before, if it had been waiting for this content. */
  waited: RecordRow | null
}

export interface Completion {
  backendId: number
  /** The staged root that holds the DAG, or null if a complete one must be there already. */
  stagedRootId: number | null
  dag: WholeDag
  record: NewRecord
  limits: PinLimits
  now: number
}

/**
 * The transactions in which a record and its root change together: after each, a root is complete exactly as long
 * as a record needs it. Each method is one transaction's work, run by the caller.
 */
export class PinStore {
  readonly #roots: RootTable
  readonly #records: RecordTable

  constructor(roots: RootTable, records: RecordTable) {
    this.#roots = roots
    this.#records = records
  }

  /**
   * Turns a staged root complete and writes its record, or returns the identical record that is there already. One
   * that has been waiting for the content gets it; its fetch is left for the caller to end.
   *
   * @throws HoldfastError `QUOTA_EXCEEDED`; `CID_NOT_FOUND` if nothing was staged and the DAG is gone meanwhile.
   */
  complete(input: Completion): Completed {
    const existing = this.#records.identical(input.record, input.now)
    if (existing?.status === 'pinned') {
      if (input.stagedRootId !== null) this.#roots.drop(input.stagedRootId)
      return { record: existing, created: false, waited: null }
    }
    const { dag, limits, now } = input
    if (existing === undefined) this.checkPinCount(input.record.accountId, limits, now)
    if (!this.fits(input.record.accountId, dag, limits.maxStorageBytes, now)) {
      throw new HoldfastError('QUOTA_EXCEEDED', `the plan allows ${limits.maxStorageBytes} bytes of storage`)
    }
    const rootId = this.completeRoot(input.backendId, input.stagedRootId, dag)
    const dagSize = this.#roots.get(rootId)?.dagSize ?? 0
    if (existing === undefined) this.#records.insert({ ...input.record, rootId, dagSize, fetchId: null })
    else this.#fulfil(existing, { id: rootId, contentSize: dag.contentSize, dagSize }, now)
    this.follow(rootId)
    const record = this.#records.get(existing?.id ?? input.record.id)
    if (record === undefined) throw new HoldfastError('INTERNAL_ERROR', 'the record has gone')
    return { record, created: existing === undefined, waited: existing ?? null }
  }

  /** Removes an account's records of a DAG, in one cluster or all. Returns them. */
  remove(accountId: string, dag: DagIdentity, clusterId: string | null, now: number): RecordRow[] {
    const records = this.#records
      .ofDag(accountId, dag, now)
      .filter(record => clusterId === null || record.clusterId === clusterId)
    for (const record of records) this.removeRecord(record)
    return records
  }

  /** Removes records that have expired, the earliest first. Returns them. */
  expire(now: number, limit: number): RecordRow[] {
    const records = this.#records.expired(now, limit)
    for (const record of records) this.removeRecord(record)
    return records
  }

  /** Has a root live as long as its records need it. */
  follow(rootId: number): void {
    const liveUntil = this.#records.liveUntil(rootId)
    if (liveUntil === undefined) this.#roots.drop(rootId)
    else this.#roots.setLiveUntil(rootId, liveUntil)
  }

  /**
   * The complete root of a DAG, which a staged one becomes unless there is one. Returns its id.
   *
   * @throws HoldfastError `CID_NOT_FOUND` if nothing was staged and the DAG is gone meanwhile.
   */
  completeRoot(backendId: number, stagedRootId: number | null, dag: WholeDag): number {
    const complete = this.#roots.find(backendId, dag)
    if (complete !== undefined) {
      if (stagedRootId !== null) this.#roots.drop(stagedRootId)
      return complete.id
    }
    if (stagedRootId === null) throw new HoldfastError('CID_NOT_FOUND', 'the content is no longer here')
    this.#roots.complete(stagedRootId, dag)
    return stagedRootId
  }

  /** @throws HoldfastError `QUOTA_EXCEEDED` if the account may not have one more record. */
  checkPinCount(accountId: string, { maxPins }: PinLimits, now: number): void {
    if (maxPins !== null && this.#records.usage(accountId, now).pins + 1 > maxPins) {
      throw new HoldfastError('QUOTA_EXCEEDED', `the plan allows ${maxPins} pins`)
    }
  }

  /** Whether a DAG fits into an account's storage; one that it has pinned already always does. */
  fits(accountId: string, dag: WholeDag, maxStorageBytes: number | null, now: number): boolean {
    if (maxStorageBytes === null || this.#records.has(accountId, dag)) return true
    return this.#records.usage(accountId, now).storedBytes + dag.dagSize <= maxStorageBytes
  }

  /** Removes a record, and gives up its root with its last one. */
  removeRecord(record: RecordRow): void {
    this.#records.delete(record)
    if (record.rootId !== null) this.follow(record.rootId)
  }
  #fulfil(record: RecordRow, root: { id: number; contentSize: number; dagSize: number }, now: number): void {
    checkTransition(record.status === 'failed' ? 'queued' : record.status, 'pinned')
    this.#records.setFetch(record.id, null)
    this.#records.setContent(record, root)
    this.#records.setStatus(record.id, 'pinned', now, null)
  }
}
