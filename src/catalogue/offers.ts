import type { Visibility } from '../domain/visibility.ts'
import type { OwnedDag, WholeDag } from '../ledger/whole-dag.ts'
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
 * Each node walks through all records. A record belongs to the node of its hold, whatever its cluster. If that node was
 * given up, the record belongs to the node of its cluster. If no node keeps the cluster, the record belongs to any node
 * that has the content.
 *
 * A node places missing holds on the content of its own records. It offers the content of other nodes' records: a hold
 * keeps the content until the other node has proved that it has it.
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
    /** Records of which either the catalogue or the ledger said that they are private, and which now are. */
    disputed?: readonly DisputedRecord[]
  }>
  /**
   * Compares the owners of the next public roots of this node with the catalogue, after a set-back. Lets nobody read by
   * holds that keep no public record. Strangers cannot read these roots before. Returns false once all are compared.
   */
  compare(): Promise<boolean>
  /** Returns the nodes that have not finished their walks. Until then, no node may release anything. */
  waitsFor(): Promise<string[]>
  /**
   * Names again which node takes each offer of this node, because nodes end and clusters move. Ends the offers whose
   * record is gone.
   */
  assign(): Promise<void>
  /**
   * Returns the next offers that this node takes, in the order of their records and nodes.
   *
   * @param query.homes see {@link walk}
   * @returns `last` is the place to continue from; null at the end
   */
  open(query: {
    homes: ReadonlyMap<string, number>
    after: OfferPlace | null
    limit: number
  }): Promise<{ offers: Offer[]; last: OfferPlace | null }>
  /** Returns whether this node has the complete content, without known damage. */
  has(backendId: number, dag: OwnedDag): boolean
  /**
   * Gives the content to the record. Ends all offers of the record if it is gone, or if its hold is sound on this node.
   *
   * @param given.brought the content, staged on this backend; null if the backend has it already
   */
  take(
    offer: Offer,
    given: { backendId: number; brought: { stagedRootId: number; dag: WholeDag } | null; now: number },
  ): Promise<{ isEnded: boolean; changes: StatusChange[] }>
}

/** A record that the catalogue and the ledger of its node call differently. It is private until somebody decides. */
export interface DisputedRecord {
  record: string
  cid: string
  /** The visibility in the catalogue. The ledger has the other one. */
  catalogue: Visibility
}

/** The place of an offer in their order. */
export interface OfferPlace {
  recordId: string
  /** The name of the node that offers, as in the table of holds. */
  node: string
}

/** A record of this node whose content a node has, which may be this node itself. */
export interface Offer extends OfferPlace {
  clusterId: string
  /** Null if the record is gone. */
  dag: OwnedDag | null
  /** The configured id of the node that offers. Null if it has none. */
  nodeId: string | null
  /** The backend of this node that has the content of the record or the offer, by the database. Null for none. */
  backendId: number | null
}
