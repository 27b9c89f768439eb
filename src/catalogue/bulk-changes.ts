import type { BulkEdit } from './bulk-edits.ts'
import type { Page, PageRequest } from './page.ts'
import type { AccountUsage, PinLimits, RecordRow } from './records.ts'

/** Kind of a change. */
export type BulkAction = 'delete' | 'rename' | 'timelock' | 'cluster' | 'visibility'
/** `running` and `undoing` need work. A change that is `done` or `undone` waits for the end of its undo period. */
export type BulkPhase = 'running' | 'done' | 'undoing' | 'undone'

/**
 * Why an undo period ended early: its account kept more than its quota, or the disk of a node was full. With `owner` or
 * `account`, the owner ended it, or deleted the account.
 */
export type UndoEnd = 'quota' | 'disk' | 'owner' | 'account'

/** A change of many records, carried out in steps. Times are milliseconds since the epoch. */
export interface BulkChange {
  /** Key of the job. */
  id: number
  /** Unguessable, URL-safe id for clients. */
  name: string
  accountId: string
  action: BulkAction
  /** The selected records, as the caller wrote them. Empty once the change has ended. */
  selection: string
  phase: BulkPhase
  /** Place in the selection, or in the removed records while the change is being undone. */
  place: string
  /** Number of selected records. */
  total: number
  done: number
  failed: number
  restored: number
  /** JSON array of the first {@link BulkFailure}s. */
  failures: string
  /** Quota bytes that the removed records have freed. */
  freedBytes: number
  /** Length of the undo period. 0 for none, and after it has ended early. */
  undoMs: number
  /** Why the undo period ended early. Null if it did not. */
  undoEnded: UndoEnd | null
  createdAt: number
  /** Null until the change, or its undoing, has ended. */
  endedAt: number | null
  attempts: number
}

/** A change to insert. */
export type NewBulkChange = Pick<
  BulkChange,
  'name' | 'accountId' | 'action' | 'selection' | 'total' | 'undoMs' | 'createdAt'
>

/** Why a change left a record as it was. */
export interface BulkFailure {
  uploadId: string
  code: string
}

/** Maximum number of failures that a change stores. It counts all failures. */
export const FAILURES_KEPT = 100
/** Maximum number of stored changes of an account. */
export const MOST_CHANGES = 100
/** How long an ended change can be read. */
export const CHANGE_KEPT_MS = 3_600_000

/** The records of one step, and the places before and after the step. */
export interface BulkStep {
  id: number
  place: string
  /** Null for the last step. */
  next: string | null
  ids: readonly string[]
  now: number
}

/** A step over records that a caller selected. */
export interface SelectedStep extends BulkStep {
  /** True if the caller named the records instead of a filter, so that missing ones are failures. */
  isListed: boolean
}

/**
 * Changes of many records. Each method that changes something is one short transaction.
 *
 * A removed record stays in the undo period, with its hold. It belongs to no list, no usage and no search, and its hold
 * lets nobody read the content.
 */
export interface BulkChanges {
  /** @throws HoldfastError `QUOTA_EXCEEDED` if the account has too many changes, `NOT_FOUND` if it does not exist */
  add(change: NewBulkChange): Promise<BulkChange>
  get(accountId: string, name: string): Promise<BulkChange | undefined>
  /** Returns the stored changes of an account, newest first. There are at most {@link MOST_CHANGES}. */
  list(accountId: string): Promise<BulkChange[]>
  /** Returns the stored changes of all accounts, newest first. */
  recent(request: PageRequest): Promise<Page<BulkChange>>
  /**
   * Begins to restore the removed records. Returns the change unchanged if it is being undone or is undone.
   *
   * @throws HoldfastError `NOT_FOUND`; `CONFLICT` if the undo period is over or the change is no removal;
   *   `QUOTA_EXCEEDED` if the records no longer fit into the plan
   */
  undo(request: { accountId: string; name: string; limits: PinLimits; now: number }): Promise<BulkChange>
  /** Removes live records of the account. Returns null if the change is not at this place, and removes nothing. */
  remove(step: SelectedStep): Promise<RecordRow[] | null>
  /**
   * Edits live records of the account. A record that cannot be edited stays as it is, as a failure.
   *
   * @returns the edited records that differ from before; null if the change is not at this place, and then edits nothing
   */
  edit(step: SelectedStep & { edit: BulkEdit }): Promise<RecordRow[] | null>
  /** Returns removed records in the order of their ids. */
  removed(id: number, after: string, limit: number): Promise<RecordRow[]>
  /**
   * Restores records. A record that has expired or does not fit into the plan stays removed, as a failure.
   *
   * @returns the restored records; null if the change is not at this place, and then restores nothing
   */
  restore(step: BulkStep & { limits: PinLimits }): Promise<RecordRow[] | null>
  /**
   * Releases the holds of some removed records whose undo period is over. After the last of them, removes the change
   * when it has been kept for an hour.
   *
   * @returns true if more records are left
   */
  purge(id: number, now: number): Promise<boolean>

  due(query: { now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: BulkChange[]
    last: string | null
  }>
  nextDue(): Promise<number | null>
  /** Counts an attempt and leases the job. Returns undefined if another node has the lease. */
  begin(id: number): Promise<BulkChange | undefined>
  retry(id: number, at: number, error: string): Promise<void>
  /** Ends an attempt before the change has ended. */
  pause(change: BulkChange, now: number): Promise<void>
}

/** Returns the usage that an account has with the removed records. */
export function usageWithRemoved(usage: AccountUsage, change: BulkChange): { pins: number; storedBytes: number } {
  return {
    pins: usage.pins + change.done - change.restored,
    storedBytes: usage.storedBytes + change.freedBytes,
  }
}
