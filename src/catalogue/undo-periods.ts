import type { BulkChange, UndoEnd } from './bulk-changes.ts'

/** Bytes that undo periods keep, and the number of accounts that keep any. */
export interface KeptTotals {
  accounts: number
  bytes: number
}

/**
 * Undo periods of removals, and the kept bytes of accounts. These are the quota bytes of each content that removed
 * records of the account name and none of its records names, counted once.
 *
 * An undo that has begun is never ended. A period ends as a whole. Its records are purged afterwards.
 */
export interface UndoPeriods {
  keptBytes(accountId: string): Promise<number>
  keptTotals(): Promise<KeptTotals>
  /**
   * Ends the oldest undo period of an account that keeps more than `most` bytes, and more than its newest removal.
   * Returns null if the account keeps less, or if records of an ended period are not purged yet.
   */
  endExcess(request: { accountId: string; most: number; now: number }): Promise<BulkChange | null>
  /**
   * Ends the undo period that should end next for the room of a disk. This is the oldest period that keeps content of
   * the given backends, first of the accounts that keep more than an equal share. Returns null if there is none.
   *
   * @param request.backends numbers in the ledger of this node
   */
  endForRoom(request: { backends: readonly number[] }): Promise<BulkChange | null>
  /** Ends some undo periods of an account, or of all accounts. Returns those that it ended. */
  endPeriods(request: { accountId: string | null; why: UndoEnd; limit: number }): Promise<BulkChange[]>
}
