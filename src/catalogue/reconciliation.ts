import type { DagIdentity } from '../ipld/cid.ts'
import type { StatusChange } from './fetches.ts'
import type { AccountUsage } from './records.ts'

/** An inconsistency of a record. */
export type RecordProblem =
  /** The node has the content, but nothing holds it. */
  | 'record-unheld'
  /** The record is `pinned`, but the node does not have its content. */
  | 'record-lost'
  /** The record waits for its content, but no fetch exists. */
  | 'record-unfetched'
  /** The record waits for its content, but the node has all of it. */
  | 'record-whole'

/** A record with an inconsistency. */
export interface RecordFinding {
  kind: RecordProblem
  record: string
  cid: string
}

/**
 * Finds inconsistencies between the catalogue and the ledger, and repairs them if `mend` is set. Each call covers one
 * step in one transaction.
 */
export interface Reconciliation {
  /**
   * Checks the next holds, and releases those that no record and no fetch needs. Ignores holds whose id is neither a
   * record's nor a fetch's.
   */
  holds(step: { after: string; limit: number; mend: boolean }): Promise<{
    unwanted: string[]
    seen: number
    last: string | null
  }>
  /** Checks the next complete roots, and drops those without a hold. */
  roots(step: { after: number; limit: number; mend: boolean }): Promise<{
    unwanted: string[]
    seen: number
    last: number | null
  }>
  /**
   * Checks the next records: holds content that has no hold, and fetches missing content again.
   *
   * @param step.homes the backend of each cluster; records of other clusters are skipped
   */
  records(step: {
    after: string
    limit: number
    homes: ReadonlyMap<string, number>
    now: number
    mend: boolean
  }): Promise<{ findings: RecordFinding[]; changes: StatusChange[]; seen: number; last: string | null }>
  /** Returns the ids of the next accounts, including those being deleted. */
  accounts(step: { after: string; limit: number }): Promise<string[]>
  /**
   * Recounts the usage of an account, one part per call. Returns `more` until the count is complete, then the stored
   * and the counted numbers, even if they are equal. Returns null if the account does not exist.
   */
  recount(step: {
    accountId: string
    limit: number
    mend: boolean
  }): Promise<'more' | { noted: AccountUsage; counted: AccountUsage } | null>
  /** Returns the next fetches after the id `after` that no record waits for. */
  fetches(step: { after: number; limit: number }): Promise<{ unwanted: number[]; seen: number; last: number | null }>
  /**
   * Sets all records of a root with lost blocks to wait for a fetch. The remaining blocks are kept.
   *
   * @param root.homes records of other clusters are skipped
   */
  requeue(root: {
    backendId: number
    dag: DagIdentity
    homes: ReadonlyMap<string, number>
    reason: string
    now: number
  }): Promise<StatusChange[]>
}
