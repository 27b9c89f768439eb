import type { DagIdentity } from '../ipld/cid.ts'
import type { WholeDag } from '../ledger/whole-dag.ts'
import type { StatusChange } from './fetches.ts'

/** A database that was set back to an earlier state, or content of a forgotten node that has returned. */
export interface SetBack {
  id: string
  /** How the first node noticed it. */
  problem: string
}

/**
 * Content that nodes offer to each other after the database was set back to an earlier state. A forgotten node that
 * returns as a new node offers its content in the same way.
 *
 * Each node walks through all records. It places missing holds on the content of its own records. If it has the content
 * of another node's record, it offers that content: a hold keeps the content until the other node has taken it.
 */
export interface Offers {
  /** Returns the set-back for which this node has not finished its walk; null if there is none. */
  pending(): Promise<SetBack | null>
  /**
   * Continues the walk with the next records. The last call marks the walk as finished.
   *
   * @param homes see {@link Reconciliation.records}
   */
  walk(step: { setBack: SetBack; homes: ReadonlyMap<string, number>; limit: number; now: number }): Promise<{
    isDone: boolean
    changes: StatusChange[]
  }>
  /** Returns the nodes that have not finished their walks. Until then, no node may release anything. */
  waitsFor(): Promise<string[]>
  /** Returns offers for the records of a cluster, in the order of the records. */
  open(query: { clusterId: string; after: string; limit: number }): Promise<Offer[]>
  /** Returns whether this node has the complete content, without known damage. */
  has(backendId: number, dag: DagIdentity): boolean
  /**
   * Gives the content to the record, and ends the offer if the record has its content or is gone.
   *
   * @param given.brought the content, staged on this backend; null if the backend has it already
   */
  take(
    offer: Offer,
    given: { backendId: number; brought: { stagedRootId: number; dag: WholeDag } | null; now: number },
  ): Promise<StatusChange[]>
}

/** A record of this node whose content another node has. */
export interface Offer {
  recordId: string
  /** Null if the record is gone. */
  dag: DagIdentity | null
  /** The name of the node, as in the table of holds. */
  node: string
  /** The configured id of the node. Null if it has none. */
  nodeId: string | null
}
