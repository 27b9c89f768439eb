import { HoldfastError } from '../../domain/errors.ts'
import { checkTransition, type PinStatus, type StatusReason } from '../../domain/pin-status.ts'
import type { DagIdentity } from '../../ipld/cid.ts'
import type { Holds } from '../../ledger/holds.ts'
import type { RootTable } from '../../ledger/root-table.ts'
import type { WholeDag } from '../../ledger/whole-dag.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import {
  type Fetches,
  type FetchFailure,
  type FetchRequest,
  type FetchRow,
  OVER_QUOTA,
  type RequestedPin,
  type StatusChange,
} from '../fetches.ts'
import type { PinLimits, RecordRow } from '../records.ts'
import { fetchFor } from './fetch-for.ts'
import type { FetchTable } from './fetch-table.ts'
import type { PlacementTable } from './placement-table.ts'
import { fetchHold, type RecordCommit } from './record-commit.ts'
import type { RecordTable } from './record-table.ts'

/** Records that one transaction changes. */
const STEP = 50
const TRIED_AGAIN: StatusReason = { code: null, text: 'tried again' }
const RESTARTED: StatusReason = { code: null, text: 'the node was restarted' }

/** Fetches in the engine's own database. What a fetch has brought is held in its name. */
export class SqliteFetches implements Fetches {
  readonly #tables: { fetches: FetchTable; roots: RootTable; holds: Holds }
  readonly #fetches: FetchTable
  readonly #records: RecordTable
  readonly #roots: RootTable
  readonly #holds: Holds
  readonly #placements: PlacementTable
  readonly #commit: RecordCommit
  readonly #queue: WriteQueue
  readonly #added: (record: RecordRow) => void

  /** @param added called with each record that is new as soon as it is committed */
  constructor(
    tables: {
      fetches: FetchTable
      records: RecordTable
      roots: RootTable
      holds: Holds
      placements: PlacementTable
    },
    commit: RecordCommit,
    queue: WriteQueue,
    added: (record: RecordRow) => void,
  ) {
    this.#tables = tables
    this.#fetches = tables.fetches
    this.#records = tables.records
    this.#roots = tables.roots
    this.#holds = tables.holds
    this.#placements = tables.placements
    this.#commit = commit
    this.#queue = queue
    this.#added = added
  }

  request(request: FetchRequest): Promise<RequestedPin> {
    const committed = ({ record, created }: RequestedPin): void => {
      if (created) this.#added(record)
    }
    return this.#queue.run(() => this.#request(request), { durable: true, committed })
  }

  #request({ record, backendId, origins, limits, now, isAnew = false }: FetchRequest): RequestedPin {
    const existing = isAnew ? undefined : this.#records.identical(record, now)
    if (existing !== undefined && existing.status !== 'failed') {
      return { record: existing, created: false, fetchId: existing.fetchId, changes: [] }
    }
    if (existing === undefined) this.#commit.checkPinCount(record.accountId, limits, now)
    this.#commit.checkQueued(record.accountId, limits)
    const fetchId = fetchFor(this.#tables, { backendId, record, origins, now })
    const changes: StatusChange[] = []
    if (existing !== undefined) {
      this.#records.setFetch(existing.id, fetchId)
      changes.push(this.#change({ ...existing, fetchId }, 'queued', now, null))
    } else {
      this.#records.insert({ ...record, rootId: null, dagSize: 0, charge: 0, fetchId })
    }
    const made = this.#reread(existing?.id ?? record.id)
    if (this.#fetches.isRunning(fetchId)) changes.push(this.#change(made, 'pinning', now, null))
    return { record: made, created: existing === undefined, fetchId, changes }
  }

  async start(fetchId: number, now: number): Promise<{ fetch: FetchRow; changes: StatusChange[] } | undefined> {
    const begin = (): { fetch: FetchRow; changes: StatusChange[] } | undefined => {
      if (this.#dropIfUnneeded(fetchId)) return undefined
      this.#fetches.start(fetchId)
      const changes = this.#changeSome(fetchId, 'failed', 'queued', now, TRIED_AGAIN)
      changes.push(...this.#changeSome(fetchId, 'queued', 'pinning', now, null))
      const fetch = this.#fetches.get(fetchId)
      return fetch && { fetch, changes }
    }
    const begun = await this.#queue.run(begin, { durable: true })
    if (begun === undefined) return undefined
    const { changes } = begun
    await this.#changeAll(fetchId, 'failed', 'queued', now, TRIED_AGAIN, changes)
    await this.#changeAll(fetchId, 'queued', 'pinning', now, null, changes)
    return begun
  }

  async fail(fetchId: number, failure: FetchFailure, now: number): Promise<StatusChange[]> {
    const { reason, retryAt } = failure
    const end = (): StatusChange[] => {
      if (this.#dropIfUnneeded(fetchId)) return []
      this.#fetches.fail(fetchId, reason.text, retryAt)
      this.#fetches.setBrought(fetchId, failure)
      const changes = this.#changeSome(fetchId, 'queued', 'failed', now, reason)
      changes.push(...this.#changeSome(fetchId, 'pinning', 'failed', now, reason))
      return changes
    }
    const changes = await this.#queue.run(end, { durable: true })
    await this.#changeAll(fetchId, 'queued', 'failed', now, reason, changes)
    await this.#changeAll(fetchId, 'pinning', 'failed', now, reason, changes)
    return changes
  }

  async refuse(recordIds: readonly string[], reason: StatusReason, now: number): Promise<StatusChange[]> {
    const work = (ids: readonly string[]): StatusChange[] =>
      ids.flatMap(id => {
        const record = this.#records.get(id)
        if (record === undefined || record.fetchId === null) return []
        this.#records.setFetch(id, null)
        return [this.#change(record, 'failed', now, reason)]
      })
    const changes: StatusChange[] = []
    for (let from = 0; from < recordIds.length; from += STEP) {
      const ids = recordIds.slice(from, from + STEP)
      for (const change of await this.#queue.run(() => work(ids), { durable: true })) changes.push(change)
    }
    return changes
  }

  complete(fetchId: number, dag: WholeDag): Promise<void> {
    const work = (): void => {
      const fetch = this.#fetches.get(fetchId)
      if (fetch === undefined || fetch.isWhole) return
      const rootId = this.#holds.complete(fetch.backendId, fetch.rootId, dag)
      if (rootId !== fetch.rootId) {
        this.#holds.release(fetchHold(fetchId))
        this.#holds.place(fetchHold(fetchId), rootId, null)
      }
      this.#fetches.setWhole(fetchId, rootId)
    }
    return this.#queue.run(work, { durable: true })
  }

  deliver(
    fetchId: number,
    limits: ReadonlyMap<string, PinLimits>,
    now: number,
  ): Promise<{ changes: StatusChange[]; isDone: boolean }> {
    const work = (): { changes: StatusChange[]; isDone: boolean } => {
      const fetch = this.#fetches.get(fetchId)
      const root = fetch === undefined ? undefined : this.#roots.get(fetch.rootId)
      if (fetch === undefined || root === undefined) return { changes: [], isDone: true }
      const changes: StatusChange[] = []
      for (const record of this.#fetches.waiting(fetchId, STEP)) {
        const limit = limits.get(record.accountId)
        if (limit === undefined) continue
        if (this.#commit.fits(record.accountId, root, limit.maxStorageBytes, now)) {
          this.#commit.fulfil(record, root.id, now)
          const fulfilled = this.#reread(record.id)
          if (fulfilled.status !== record.status) changes.push({ record: fulfilled, from: record.status })
        } else {
          this.#records.setFetch(record.id, null)
          changes.push(this.#change(record, 'failed', now, OVER_QUOTA))
        }
      }
      return { changes, isDone: this.#dropIfUnneeded(fetchId) }
    }
    return this.#queue.run(work, { durable: true })
  }

  dropOrRepeat(fetchId: number, now: number): Promise<void> {
    const work = (): void => {
      if (!this.#dropIfUnneeded(fetchId)) this.#fetches.schedule(fetchId, now)
    }
    return this.#queue.run(work, { durable: true })
  }

  dropIfUnneeded(fetchId: number): Promise<boolean> {
    return this.#queue.run(() => this.#dropIfUnneeded(fetchId), { durable: false })
  }

  async resume(now: number): Promise<StatusChange[]> {
    const changes: StatusChange[] = []
    for (;;) {
      const interrupted = this.#fetches.running(STEP)
      if (interrupted.length === 0) return changes
      for (const fetchId of interrupted) {
        await this.#changeAll(fetchId, 'pinning', 'queued', now, RESTARTED, changes)
        await this.#queue.run(() => this.#fetches.schedule(fetchId, now), { durable: true })
      }
    }
  }

  async get(fetchId: number): Promise<FetchRow | undefined> {
    return this.#fetches.get(fetchId)
  }

  async find(backendId: number, dag: DagIdentity): Promise<FetchRow | undefined> {
    return this.#fetches.find(backendId, dag)
  }

  async isWanted(fetchId: number): Promise<boolean> {
    return this.#fetches.isWanted(fetchId)
  }

  async waitingAccounts(fetchId: number): Promise<string[]> {
    return this.#fetches.waitingAccounts(fetchId)
  }

  async waitersOf(fetchId: number, accountId: string): Promise<string[]> {
    return this.#fetches.waitersOf(fetchId, accountId)
  }

  async heldFor(accountId: string): Promise<Array<{ id: number; charge: number }>> {
    return this.#fetches.heldFor(accountId)
  }

  async due(query: { now: number; after: string; accounts: number; each: number }): Promise<{
    fetches: FetchRow[]
    last: string | null
  }> {
    const fetches: FetchRow[] = []
    let last: string | null = query.after
    for (let looked = 0; looked < query.accounts; looked++) {
      last = this.#fetches.accountAfter(last)
      if (last === null) break
      fetches.push(...this.#fetches.dueOf(last, query.now, query.each))
    }
    return { fetches, last }
  }

  async nextDue(): Promise<number | null> {
    return this.#fetches.nextDue()
  }

  /** Gives a fetch up that no record waits for, what it has brought with it, and what a cluster was to fetch for it. */
  #dropIfUnneeded(fetchId: number): boolean {
    if (this.#fetches.isWanted(fetchId)) return false
    const fetch = this.#fetches.get(fetchId)
    this.#holds.release(fetchHold(fetchId))
    this.#fetches.delete(fetchId)
    if (fetch !== undefined) this.#placements.withdraw(fetch.backendId, fetch)
    return true
  }

  /** However many records wait, no transaction is long. What has changed is added to `changes`. */
  async #changeAll(
    fetchId: number,
    from: PinStatus,
    to: PinStatus,
    now: number,
    reason: StatusReason | null,
    changes: StatusChange[],
  ): Promise<void> {
    while (this.#fetches.waitingAs(fetchId, from, 1).length > 0) {
      const step = (): StatusChange[] => this.#changeSome(fetchId, from, to, now, reason)
      for (const change of await this.#queue.run(step, { durable: true })) changes.push(change)
    }
  }

  #changeSome(
    fetchId: number,
    from: PinStatus,
    to: PinStatus,
    now: number,
    reason: StatusReason | null,
  ): StatusChange[] {
    return this.#fetches.waitingAs(fetchId, from, STEP).map(record => this.#change(record, to, now, reason))
  }

  #change(record: RecordRow, to: PinStatus, now: number, reason: StatusReason | null): StatusChange {
    checkTransition(record.status, to)
    this.#records.setStatus(record.id, to, now, reason)
    return { record: this.#reread(record.id), from: record.status }
  }

  #reread(id: string): RecordRow {
    const record = this.#records.get(id)
    if (record === undefined) throw new HoldfastError('INTERNAL_ERROR', `record ${id} has gone`)
    return record
  }
}
