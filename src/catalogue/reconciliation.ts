import type { DagIdentity } from '../ipld/cid.ts'
import type { StatusChange } from './fetches.ts'
import type { AccountUsage } from './records.ts'

/** What may be wrong with a record. */
export type RecordProblem =
  /** Its content is here, and nothing keeps it. */
  | 'record-unheld'
  /** It is called pinned, and its content is not here. */
  | 'record-lost'
  /** It waits for content that nothing brings. */
  | 'record-unfetched'
  /** It waits for content that is here. */
  | 'record-whole'

/** A record with which something is wrong. */
export interface RecordFinding {
  kind: RecordProblem
  record: string
  cid: string
}

/**
 * Looks for what does not fit together in who wants what, a step at each call, and puts it right if that is asked for.
 * Each step is one transaction.
 */
export interface Reconciliation {
  /** The next holds: those that nobody wants are let go of. Ids that are no record's and no fetch's are left alone. */
  holds(step: { after: string; limit: number; mend: boolean }): Promise<{
    unwanted: string[]
    seen: number
    last: string | null
  }>
  /** The next complete roots: those without a hold are given up. */
  roots(step: { after: number; limit: number; mend: boolean }): Promise<{
    unwanted: string[]
    seen: number
    last: number | null
  }>
  /**
   * The next records: those that nothing keeps are held, those without content are fetched again.
   *
   * @param step.homes the backend of each cluster; records of others are passed over
   */
  records(step: {
    after: string
    limit: number
    homes: ReadonlyMap<string, number>
    now: number
    mend: boolean
  }): Promise<{ findings: RecordFinding[]; changes: StatusChange[]; seen: number; last: string | null }>
  /** The ids of the next accounts, of those that are being deleted, too. */
  accounts(step: { after: string; limit: number }): Promise<string[]>
  /**
   * Counts what an account has anew, a part at each call. Once all is counted, what its row said and what it is, also
   * where both are the same; `more` before, null if there is no such account.
   */
  recount(step: {
    accountId: string
    limit: number
    mend: boolean
  }): Promise<'more' | { noted: AccountUsage; counted: AccountUsage } | null>
  /** The next fetches that no record waits for, among those after `after`. */
  fetches(step: { after: number; limit: number }): Promise<{ unwanted: number[]; seen: number; last: number | null }>
  /**
   * Has all records of a root, of which some blocks are lost, wait until they are fetched again; what is there is kept
   * meanwhile.
   *
   * @param root.homes records of other clusters are passed over
   */
  requeue(root: {
    backendId: number
    dag: DagIdentity
    homes: ReadonlyMap<string, number>
    reason: string
    now: number
  }): Promise<StatusChange[]>
}
