import type { BulkChange, BulkChanges, BulkStep, SelectedStep } from '../../catalogue/bulk-changes.ts'
import type { Fetches } from '../../catalogue/fetches.ts'
import type { PinLimits, RecordRow, Records } from '../../catalogue/records.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { Clock } from '../../domain/clock.ts'
import { isHoldfastError } from '../../domain/errors.ts'
import type { Visibility } from '../../domain/visibility.ts'
import { recordFilterOf } from '../../pins/lists/list-search.ts'
import type { PinChanges } from '../../pins/pin-changes.ts'
import type { ChangeSteps } from '../../pins/removal/change-attempt.ts'
import type { VisibilityChanges } from '../../pins/visibility-changes.ts'
import { type Selected, selectionOf } from './bulk-selection.ts'

export interface BulkWorkParts {
  bulk: BulkChanges
  records: Records
  fetches: Fetches
  changes: PinChanges
  clock: Clock
  visibility: Pick<VisibilityChanges, 'change' | 'followed'>
  limitsOf: (accountId: string) => Promise<PinLimits>
  /** Returns null for a cluster that this node cannot fetch into. */
  backendOf: (clusterId: string) => number | null
  leaveFetch: (fetchId: number) => Promise<void>
  wakeFetches: () => void
  /** Called after a change of expiry times. */
  wakeSweeper: () => void
  /** Called after the transactions of a job. */
  stepped: () => void
}

/** Codes of records whose visibility cannot change. */
const UNCHANGED = new Set<string>(['CONFLICT', 'NOT_OFFERED', 'CID_NOT_FOUND', 'UNAVAILABLE'])
/** Records that one transaction changes. */
const STEP = 50
/** Records that one query of a filter finds. */
const FOUND_AT_ONCE = 500

/** Deletes, edits and restores the records of a change. */
export class BulkWork implements ChangeSteps {
  readonly #parts: BulkWorkParts

  constructor(parts: BulkWorkParts) {
    this.#parts = parts
  }

  async step(change: BulkChange, signal: AbortSignal): Promise<void> {
    if (change.phase === 'undoing') await this.#restore(change)
    else if (change.action === 'delete') await this.#remove(change, signal)
    else await this.#edit(change)
    this.#parts.stepped()
  }

  async #remove(change: BulkChange, signal: AbortSignal): Promise<void> {
    const { ids, next, isListed } = await this.#selected(change, selectionOf(change).of, FOUND_AT_ONCE)
    for (let from = 0; from === 0 || from < ids.length; from += STEP) {
      signal.throwIfAborted()
      // Before the last step, a repetition finds only the records that are left, so the place stays.
      const isLast = from + STEP >= ids.length
      const step = { ids: ids.slice(from, from + STEP), next: isLast ? next : change.place, isListed }
      const rows = await this.#parts.bulk.remove({ ...this.#stepOf(change), ...step })
      if (rows === null) return
      await this.#tellRemoved(rows)
      this.#parts.stepped()
    }
  }

  /** Returns the next selected records, and the place that follows them. */
  async #selected(
    { accountId, place }: BulkChange,
    selected: Selected,
    limit: number,
  ): Promise<Pick<SelectedStep, 'next' | 'isListed'> & { ids: string[] }> {
    if (Array.isArray(selected)) {
      const from = Number(place)
      const next = from + STEP < selected.length ? String(from + STEP) : null
      return { ids: selected.slice(from, from + STEP), next, isListed: true }
    }
    const filter = recordFilterOf(accountId, selected, this.#parts.clock.now())
    const page = { after: place === '' ? null : place, limit }
    const { rows, next } = await this.#parts.records.walk(filter, page)
    return { ids: rows.map(({ id }) => id), next, isListed: false }
  }

  /** Edits the next records. Stores the place of each step, because a repeated step would find edited records again. */
  async #edit(change: BulkChange): Promise<void> {
    const { bulk, wakeSweeper } = this.#parts
    const { of, edit } = selectionOf(change)
    const selected = await this.#selected(change, of, STEP)
    if (edit?.visibility !== undefined) await this.#setVisibility(change.accountId, selected.ids, edit.visibility)
    // One wait for all records, before the job is done.
    if (edit?.visibility !== undefined && selected.next === null) await this.#parts.visibility.followed()
    await bulk.edit({ ...this.#stepOf(change), ...selected, edit: edit ?? {} })
    if (edit?.expiresAt !== undefined) wakeSweeper()
  }

  /** Records that stay as they are become failures of the edit. */
  async #setVisibility(account: string, ids: readonly string[], visibility: Visibility): Promise<void> {
    for (const uploadId of ids) {
      const row = await this.#parts.records.get(uploadId)
      if (row === undefined) continue
      try {
        await this.#parts.visibility.change({ account, uploadId, clusterId: row.clusterId, visibility })
      } catch (error) {
        if (!isHoldfastError(error) || !UNCHANGED.has(error.code)) throw error
      }
      if (turnSpent()) await nextTurn()
    }
  }

  async #tellRemoved(rows: readonly RecordRow[]): Promise<void> {
    const { changes, leaveFetch } = this.#parts
    for (const fetchId of new Set(rows.map(row => row.fetchId))) if (fetchId !== null) await leaveFetch(fetchId)
    for (const row of rows) {
      changes.removed(row, 'deleted')
      if (turnSpent()) await nextTurn()
    }
  }

  async #restore(change: BulkChange): Promise<void> {
    const { bulk, changes, limitsOf } = this.#parts
    const limits = await limitsOf(change.accountId)
    const removed = await bulk.removed(change.id, change.place, STEP)
    for (const row of removed) if (isUnfinished(row)) await this.#fetch(row, limits)
    const ids = removed.map(({ id }) => id)
    const next = removed.length < STEP ? null : (ids.at(-1) ?? null)
    const rows = await bulk.restore({ ...this.#stepOf(change), ids, next, limits })
    for (const row of rows ?? []) {
      changes.created(row)
      if (turnSpent()) await nextTurn()
    }
  }

  /** Requests the content of a removed record again, under the same id. A failure leaves the record `failed`. */
  async #fetch(row: RecordRow, limits: PinLimits): Promise<void> {
    const { records, fetches, changes, clock, backendOf, wakeFetches } = this.#parts
    const backendId = backendOf(row.clusterId)
    const now = clock.now()
    const isExpired = row.expiresAt !== null && row.expiresAt <= now
    if (backendId === null || isExpired || (await records.get(row.id)) !== undefined) return
    const record = { ...row, status: 'queued' as const, statusAt: now, statusCode: null, statusReason: null }
    try {
      const made = await fetches.request({
        record,
        owner: row.owner,
        backendId,
        origins: [],
        limits,
        now,
        isAnew: true,
      })
      changes.created(made.record)
      for (const { record: changed, from } of made.changes) changes.changed(changed, from)
      wakeFetches()
    } catch (error) {
      if (!isHoldfastError(error, 'QUOTA_EXCEEDED')) throw error
    }
  }

  #stepOf({ id, place }: BulkChange): Pick<BulkStep, 'id' | 'place' | 'now'> {
    return { id, place, now: this.#parts.clock.now() }
  }
}

function isUnfinished({ rootId, status }: RecordRow): boolean {
  return rootId === null && (status === 'queued' || status === 'pinning')
}
