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
  /** Returns copies of new content, or else those to make again or to repair, which are due. */
  due(query: { isFresh: boolean; now: number; limit: number }): Promise<DueCopy[]>
  /** Returns when the next copy is due, in ms since the epoch; null without any. */
  nextDue(isFresh: boolean): Promise<number | null>
  /** Returns the nodes that keep the content, or should, in the order of their ids. */
  placesOf(dag: OwnedDag): Promise<PlaceState[]>
  /** Returns the copies of this node, as they were up to ten seconds ago. */
  counts(): Promise<CopyCounts>
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
  /**
   * Compares some copies with the ledger of this node, after its start or a set-back. Until then they count for nobody. A
   * lost one is wanted again, a damaged one is repaired. Returns whether more are left.
   */
  compare(): Promise<boolean>
  /**
   * Gives records of lost nodes and of nodes that retire, and removed records, the copies on this node. They stay as they
   * are otherwise. A node that retires keeps its content until all wanted copies are sound. Returns whether more are left.
   */
  promote(): Promise<boolean>
  readonly freed: FreedCopies
  readonly presence: CopyPresence
  /** @param reason the error, for the owner of the node */
  retry(copy: DueCopy, at: number, reason: string): Promise<void>
}

/** The copies that a node has, should make or repair, and may release, by state. */
export interface CopyCounts {
  states: Readonly<Record<'have' | 'wanted' | 'damaged' | 'surplus' | 'going', number>>
  /** Since when the oldest copy waits to be made or repaired, in ms since the epoch; null if none does. */
  waitsSince: number | null
  /** Why an attempt at a waiting copy failed; null if none has. */
  reason: string | null
}

/** Notes which nodes of clusters with copies are away or full, because others then make further copies. */
export interface CopyPresence {
  /**
   * Looks for nodes that have been away for long, or have returned.
   *
   * @param afterMs returns the time of a cluster after which its nodes are away, in ms
   * @param unbrokenMs time for which this node has written its own heartbeats without a break
   */
  observe(afterMs: (clusterId: string) => number | undefined, unbrokenMs: number): Promise<void>
  /**
   * Notes whether this node has room. A full one hands its waiting copies on to nodes with room, and releases surplus
   * copies before their time.
   */
  room(isFull: boolean): Promise<void>
}

/** The content on one node. */
export interface PlaceState {
  /** Configured id of the node. */
  node: string
  /** `have` for the node of a record, too. `surplus` and `going`: no cluster wants the copy any more. */
  state: keyof CopyCounts['states']
  /** Why the last attempt to copy the content failed; null if none has. */
  reason: string | null
}

/** Releases copies of this node that no set wants. */
export interface FreedCopies {
  /**
   * Marks copies which other places make superfluous, so that they count for nobody. Another copy is tried again `later`.
   * Marks none while the sets change, or while a node has content to offer.
   */
  begin(now: number, limit: number, later: number): Promise<FreedCopy[]>
  /**
   * Releases a marked copy if places which have proved to be sound still make it superfluous. Otherwise it counts again,
   * and is tried again `later`.
   *
   * @param sound the places whose nodes have said, after the mark, that their ledgers have the holds
   * @returns false if it is not released
   */
  end(copy: FreedCopy, sound: readonly CopyPlace[], later: number): Promise<boolean>
}

/** A hold on the content on another node. */
export interface CopyPlace {
  /** Configured id of the node. */
  node: string
  /** Run of the node. */
  run: string
  hold: string
}

export interface FreedCopy extends OwnedDag {
  id: number
  places: CopyPlace[]
}

export interface DueCopy extends Job, OwnedDag {
  /** A cluster of the records; null if only removed records need the content. */
  clusterId: string | null
}

/** Content that this node has staged completely, or has. */
export interface MovedRoot {
  /** Id of the content on the other node. */
  from: number
  backendId: number
  /** Null if the ledger has the complete content. */
  stagedRootId: number | null
  dag: WholeDag
}
