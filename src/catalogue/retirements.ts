import type { OwnedDag, WholeDag } from '../ledger/whole-dag.ts'
import type { StatusChange } from './fetches.ts'

/** Content of retiring nodes, which moves to this node. Each step may be repeated after a kill. */
export interface Retirements {
  /** Returns the nodes whose content moves to this node. */
  nodes(): Promise<RetiringNode[]>
  /**
   * Returns the next content of a node, of a bounded number of rows.
   *
   * @returns `last` is the place to continue from; null at the end
   */
  roots(node: RetiringNode, after: number): Promise<{ roots: RetiringRoot[]; last: number | null }>
  /**
   * Switches the records of some content to this node. Places the new holds durably first. One transaction then uses
   * the new holds, changes the records that still have the former ones, and makes these void.
   *
   * @returns the number of records
   */
  move(moved: readonly MovedRoot[]): Promise<number>
  /**
   * Lets some records that wait for a fetch of the node wait for one of this node.
   *
   * @param step.homeOf returns the backend for a cluster
   * @returns `count` is the number of records
   */
  moveWaiting(step: {
    node: RetiringNode
    homeOf: (clusterId: string) => number
    now: number
  }): Promise<{ changes: StatusChange[]; count: number }>
  /** Ends the retirement if the node has nothing any more. Returns whether it has ended. */
  finish(node: RetiringNode): Promise<boolean>
}

export interface RetiringNode {
  name: string
  id: string
  number: number
}

export interface RetiringRoot extends OwnedDag {
  id: number
  /** A cluster of its records. Null if only removed records in their undo period need the content. */
  clusterId: string | null
}

/** Content that this node has staged completely, or has. */
export interface MovedRoot {
  /** Id of the content on the retiring node. */
  from: number
  backendId: number
  /** Null if the ledger has the complete content. */
  stagedRootId: number | null
  dag: WholeDag
}
