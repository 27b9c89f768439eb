import type { DagIdentity } from '../../domain/cid.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { checkTransition, type PinStatus } from '../../domain/pin-status.ts'
import type { RootTable, WholeDag } from '../../ledger/root-table.ts'
import type { FetchRow, FetchTable } from './fetch-table.ts'
import type { NewRecord, PinLimits, PinStore } from './pin-store.ts'
import type { RecordRow, RecordTable } from './record-table.ts'

/** A record whose status has changed. */
export interface StatusChange {
  /** As it is now. */
  record: RecordRow
  from: PinStatus
}

export interface FetchRequest {
  record: NewRecord
  backendId: number
  origins: readonly string[]
  limits: PinLimits
  now: number
}

/** Why a record that waited for content that has come did not get it. */
export const OVER_QUOTA = 'QUOTA_EXCEEDED: the content does not fit into the storage of the plan'

/**
 * The transactions of pins whose content is still to come: records wait for a fetch, which fills a staging root.
 * Each method is one transaction's work, run by the caller.
 */
export class FetchStore {
  readonly #fetches: FetchTable
  readonly #records: RecordTable
  readonly #roots: RootTable
  readonly #pins: PinStore

  constructor(tables: { fetches: FetchTable; records: RecordTable; roots: RootTable }, pins: PinStore) {
    this.#fetches = tables.fetches
    this.#records = tables.records
    this.#roots = tables.roots
    this.#pins = pins
  }

  /**
   * Writes a record that waits for content, and the fetch that is to bring it unless there is one already. An
   * identical request that has failed is tried anew.
   *
   * @returns the record as it was written, `queued`; and what changed at once, where its fetch is running already
   * @throws HoldfastError `QUOTA_EXCEEDED` for the number of pins.
   */
  request({ record, backendId, origins, limits, now }: FetchRequest): {
    record: RecordRow
    created: boolean
    fetchId: number | null
    changes: StatusChange[]
  } {
    const existing = this.#records.identical(record, now)
    if (existing !== undefined && existing.status !== 'failed') {
      return { record: existing, created: false, fetchId: existing.fetchId, changes: [] }
    }
    if (existing === undefined) this.#pins.checkPinCount(record.accountId, limits, now)
    const fetchId = this.#fetchOf(backendId, record, origins, now)
    const isRunning = this.#records.ofFetch(fetchId).some(({ status }) => status === 'pinning')
    const changes: StatusChange[] = []
    if (existing !== undefined) {
      this.#records.setFetch(existing.id, fetchId)
      changes.push(...this.#change([{ ...existing, fetchId }], 'queued', now, null))
    } else {
      this.#records.insert({ ...record, rootId: null, dagSize: 0, fetchId })
    }
    const made = this.#reread(existing?.id ?? record.id)
    if (isRunning) changes.push(...this.#change([made], 'pinning', now, null))
    return { record: made, created: existing === undefined, fetchId, changes }
  }

  /**
   * Writes a record, `failed`, of content that is here only in part, and the fetch that is to bring the rest: what
   * is here, staged, is where it begins.
   *
   * @throws HoldfastError `CONFLICT` if the content is being fetched already, or has such a record; `QUOTA_EXCEEDED`
   * for the number of pins.
   */
  begin(input: Omit<FetchRequest, 'origins'> & { stagedRootId: number }): RecordRow {
    const { record, backendId, stagedRootId, limits, now } = input
    const isKnown = this.#records.identical(record, now) ?? this.#fetches.find(backendId, record)
    if (isKnown !== undefined) {
      throw new HoldfastError('CONFLICT', `${record.cid} is there in part, or being fetched, already`)
    }
    this.#pins.checkPinCount(record.accountId, limits, now)
    const fetchId = this.#fetches.insert(backendId, record, stagedRootId, [], now)
    this.#records.insert({ ...record, rootId: null, dagSize: 0, fetchId })
    return this.#reread(record.id)
  }

  /** Counts an attempt and has its records `pinning`. Undefined if nobody waits any more. */
  start(fetchId: number, now: number): { fetch: FetchRow; changes: StatusChange[] } | undefined {
    this.#fetches.start(fetchId)
    const fetch = this.#fetches.get(fetchId)
    const waiting = this.#records.ofFetch(fetchId)
    if (fetch === undefined || waiting.length === 0) {
      this.dropIfUnneeded(fetchId)
      return undefined
    }
    const failed = waiting.filter(record => record.status === 'failed')
    const again = this.#change(failed, 'queued', now, 'tried again')
    const queued = this.#records.ofFetch(fetchId).filter(record => record.status === 'queued')
    return { fetch, changes: [...again, ...this.#change(queued, 'pinning', now, null)] }
  }

  /** @param failure `retryAt` is null if nothing more is tried by itself; `bytes` are those of the blocks that stay */
  fail(
    fetchId: number,
    { reason, retryAt, bytes }: { reason: string; retryAt: number | null; bytes: number },
    now: number,
  ): StatusChange[] {
    if (this.dropIfUnneeded(fetchId)) return []
    this.#fetches.fail(fetchId, reason, retryAt, bytes)
    const waiting = this.#records.ofFetch(fetchId).filter(record => record.status !== 'failed')
    return this.#change(waiting, 'failed', now, reason)
  }

  /**
   * Ends the wait of one record that cannot have the content. The fetch stays; the attempt that runs gives it up if
   * that was the last.
   */
  refuse(recordId: string, reason: string, now: number): StatusChange[] {
    const record = this.#records.get(recordId)
    if (record === undefined || record.fetchId === null) return []
    const changes = this.#change([record], 'failed', now, reason)
    this.#records.setFetch(recordId, null)
    return changes
  }

  /**
   * The content is whole: its root completes and every record that waits gets it, unless its account's storage is
   * too small by now.
   *
   * @param limits by account
   */
  complete(fetchId: number, dag: WholeDag, limits: ReadonlyMap<string, PinLimits>, now: number): StatusChange[] {
    const fetch = this.#fetches.get(fetchId)
    if (fetch === undefined) return []
    const changes: StatusChange[] = []
    const rootId = this.#pins.completeRoot(fetch.backendId, fetch.rootId, dag)
    for (const record of this.#records.ofFetch(fetchId)) {
      this.#records.setFetch(record.id, null)
      const max = limits.get(record.accountId)?.maxStorageBytes ?? null
      if (this.#pins.fits(record.accountId, dag, max, now)) {
        this.#records.setContent(record, { id: rootId, contentSize: dag.contentSize, dagSize: dag.dagSize })
        changes.push(...this.#change([record], 'pinned', now, null))
      } else {
        changes.push(...this.#change([record], 'failed', now, OVER_QUOTA))
      }
    }
    this.#fetches.delete(fetchId)
    this.#pins.follow(rootId)
    return changes
  }

  /** Ends an attempt that nobody waited for. If somebody does by now there is another one at once. */
  dropOrRepeat(fetchId: number, now: number): void {
    if (!this.dropIfUnneeded(fetchId)) this.#fetches.repeat(fetchId, now)
  }

  /** Gives a fetch up that no record waits for, and that is not being attempted. Returns whether it did. */
  dropIfUnneeded(fetchId: number): boolean {
    if (this.#records.ofFetch(fetchId).length > 0) return false
    const fetch = this.#fetches.get(fetchId)
    if (fetch !== undefined) this.#roots.abandon(fetch.rootId)
    this.#fetches.delete(fetchId)
    return true
  }

  /** Has what an earlier process was fetching start again. */
  resume(now: number): StatusChange[] {
    this.#fetches.rescheduleInterrupted(now)
    const interrupted = this.#fetches
      .due(now)
      .flatMap(fetch => this.#records.ofFetch(fetch.id).filter(record => record.status === 'pinning'))
    return this.#change(interrupted, 'queued', now, 'the node was restarted')
  }

  #fetchOf(backendId: number, dag: DagIdentity, origins: readonly string[], now: number): number {
    const running = this.#fetches.find(backendId, dag)
    if (running === undefined) {
      return this.#fetches.insert(backendId, dag, this.#roots.stage(backendId, now), origins, now)
    }
    const isWaiting = this.#records.ofFetch(running.id).every(record => record.status === 'failed')
    if (isWaiting) this.#fetches.schedule(running.id, now, [...new Set([...origins, ...running.origins])])
    return running.id
  }

  #change(records: readonly RecordRow[], to: PinStatus, now: number, reason: string | null): StatusChange[] {
    return records.map(record => {
      checkTransition(record.status, to)
      this.#records.setStatus(record.id, to, now, reason)
      return { record: this.#reread(record.id), from: record.status }
    })
  }

  #reread(id: string): RecordRow {
    const record = this.#records.get(id)
    if (record === undefined) throw new HoldfastError('INTERNAL_ERROR', `record ${id} has gone`)
    return record
  }
}
