import type { Job } from '../jobs/job-runner.ts'
import type { OwnedDag, WholeDag } from '../ledger/whole-dag.ts'

/** The nodes and copies of each cluster that wants more than one copy of its content. */
export type CopySets = Readonly<Record<string, { nodes: readonly string[]; copies: number }>>

/** Copies of content on this node, whose records have their holds on other nodes. */
export interface Copies {
  /**
   * Follows a change of the sets: decides about some content that had records before it. Returns whether more is left.
   * Any node may continue the walk.
   */
  walk(): Promise<boolean>
  /** Returns copies to make or to repair, which are due. */
  due(now: number, limit: number): Promise<DueCopy[]>
  /** Returns when the next copy is due, in ms since the epoch; null without any. */
  nextDue(): Promise<number | null>
  /** Returns the ids of the other nodes that keep the content. */
  sourcesOf(dag: OwnedDag): Promise<string[]>
  /**
   * Gives the copy its hold, if it is still wanted. Nobody can read it before. The hold lasts as long as the last record
   * of the content and owner.
   *
   * @param taken the content, staged on this node
   * @returns false if the copy is not wanted any more
   */
  take(copy: DueCopy, taken: { backendId: number; stagedRootId: number; dag: WholeDag }): Promise<boolean>
  /** @param reason the error, for the owner of the node */
  retry(copy: DueCopy, at: number, reason: string): Promise<void>
}

export interface DueCopy extends Job, OwnedDag {}
