import type { Visibility } from '../domain/visibility.ts'
import type { OwnedDag } from '../ledger/whole-dag.ts'
import type { StatusChange } from './fetches.ts'
import type { AccountUsage } from './records.ts'

/** An inconsistency of a record. */
export type RecordProblem =
  /** The node has the content of the record, but the content has no hold. */
  | 'record-unheld'
  /** The record is `pinned`, but the node lacks its content. */
  | 'record-lost'
  /** The record waits for its content, but no fetch exists. */
  | 'record-unfetched'
  /** The record waits for content that is already on the node. */
  | 'record-whole'

/** A record with an inconsistency. */
export interface RecordFinding {
  kind: RecordProblem | 'record-disputed'
  record: string
  cid: string
  /** The visibility in the catalogue before a record was disputed. */
  catalogue?: Visibility
}

/**
 * Finds inconsistencies between the catalogue and the ledger, and repairs them if `mend` is true. Each call checks one
 * batch of rows in one transaction.
 */
export interface Reconciliation {
  /**
   * Checks the next holds. With `mend`, releases unneeded holds. Ignores a hold whose id belongs neither to a record
   * nor to a fetch.
   */
  holds(step: { after: string; limit: number; mend: boolean }): Promise<{
    unwanted: string[]
    seen: number
    last: string | null
  }>
  /** Checks the next complete roots. With `mend`, drops the roots without a hold. */
  roots(step: { after: number; limit: number; mend: boolean }): Promise<{
    unwanted: string[]
    seen: number
    last: number | null
  }>
  /**
   * Checks the next records. With `mend`, places missing holds, and queues fetches for missing content.
   *
   * @param step.homes the backend of each cluster of this node. Records of other clusters are checked if this node has
   * their hold in one of these backends, or in the default one.
   */
  records(step: {
    after: string
    limit: number
    homes: ReadonlyMap<string, number>
    now: number
    mend: boolean
  }): Promise<{ findings: RecordFinding[]; changes: StatusChange[]; seen: number; last: string | null }>
  /** Returns the next accounts, including accounts that are being deleted. */
  accounts(step: { after: string; limit: number }): Promise<string[]>
  /**
   * Recounts the usage of an account, one part per call. Returns `more` until the count is complete, and then the
   * stored and the counted numbers. Returns null if the account does not exist.
   */
  recount(step: {
    accountId: string
    limit: number
    mend: boolean
  }): Promise<'more' | { noted: AccountUsage; counted: AccountUsage } | null>
  /** Returns fetches without a waiting record. */
  fetches(step: { after: number; limit: number }): Promise<{ unwanted: number[]; seen: number; last: number | null }>
  /**
   * Queues a fetch for all records of a root that has lost blocks. The remaining blocks stay on disk.
   *
   * @param root.homes see {@link records}
   */
  requeue(root: {
    backendId: number
    dag: OwnedDag
    homes: ReadonlyMap<string, number>
    reason: string
    now: number
  }): Promise<StatusChange[]>
}
