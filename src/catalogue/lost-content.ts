import type { DagIdentity } from '../ipld/cid.ts'
import type { StatusChange } from './fetches.ts'

/** A node that was given up, whose records other nodes take over. Or a node that retires in favour of this node. */
export interface LostNode {
  name: string
  id: string
  number: number
  isRetiring: boolean
}

export interface TakeOver {
  node: LostNode
  /** The last record of the page before; empty for the first page. */
  after: string
  /**
   * Returns the backend on this node for new content of a cluster. Null if another node keeps the cluster, or if its
   * directory is absent. If no node keeps the cluster, every node returns a backend.
   */
  homeOf: (clusterId: string) => number | null
  /** Returns whether a fetch may find the content. */
  canFetch: (record: DagIdentity & { clusterId: string }) => Promise<boolean>
  now: number
}

export interface TakenOver {
  changes: StatusChange[]
  /** Records of the page that this node has taken over. */
  taken: number
  /** The last record of the page; null if no record follows. */
  last: string | null
  /** Records of the page that remain: for another node, or until features have handled earlier changes. */
  left: number
}

/** Gives up the content of lost nodes, in short steps. After a crash, the steps begin again. */
export interface LostContent {
  /** Returns the lost nodes, and those that retire in favour of this node. */
  nodes(): Promise<LostNode[]>
  /** Returns the clusters that nodes keep by their configurations. */
  keptClusters(): Promise<ReadonlySet<string>>
  /** Makes sure that no commit of the node can succeed any more. Returns false if one may still run. */
  fence(node: LostNode): Promise<boolean>
  /**
   * Takes over the next records of a node. If this node has the content, a record gets a hold on it. Otherwise it
   * becomes `pinning` and is fetched, or `failed`.
   */
  takeOver(step: TakeOver): Promise<TakenOver>
  /**
   * Removes what is left of a node without records. Call it after a pass that left none. Returns false if the node has
   * records again, so another pass is necessary.
   */
  finish(node: LostNode): Promise<boolean>
  /** Lets some records that wait for a fetch of a retiring node wait for one of this node. Their content moves to copies. */
  moveWaiting(step: Pick<TakeOver, 'node' | 'homeOf' | 'now'>): Promise<{ changes: StatusChange[]; isMore: boolean }>
  /** Ends a retirement if the node has nothing any more. Returns whether it has ended. */
  finishRetirement(node: LostNode): Promise<boolean>
}
