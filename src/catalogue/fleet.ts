import type { PinStatus } from '../domain/pin-status.ts'
import type { Possessor } from '../ledger/possessor.ts'
import type { Page, PageRequest } from './page.ts'

export interface Fleet {
  nodes: FleetNodes
  /** The secret with which nodes authenticate to each other. */
  secret: Uint8Array
  /** Random value, new at each start of this node. The node refuses requests that were signed for an earlier run. */
  run: string
  load(): Promise<object>
}

/** The configured id of a node, and its URL for other nodes. */
export interface NodeAddress {
  id: string
  url: string
}

/** A node as other nodes see it. */
export interface KnownNode extends NodeAddress {
  /** Distinguishes the backends of this node from the backends of other nodes. */
  number: number
  /** True if the node has recently reported that it is running. */
  isThere: boolean
  /** True if the node was given up. Its content is gone. */
  isLost: boolean
  /** True while the node shuts down and accepts no new work. */
  isLeaving: boolean
  /** The random value of its start; null if the node does not report the value. */
  run: string | null
  /** True if the node reads streams in sealed frames. A node of version 0.3.0 gets streams as they are. */
  readsFrames: boolean
}

/**
 * - `active`: an ordinary node.
 * - `retiring`: its content moves to other nodes.
 * - `retired`: it has no content any more, and its directory cannot join again.
 * - `forgetting`: it was given up; other nodes take over its records.
 * - `forgotten`: it was given up, and nothing of it is left.
 */
export type NodeState = 'active' | 'retiring' | 'retired' | 'forgetting' | 'forgotten'

/** A node, past ones included, as its owner sees it. Times are milliseconds since the epoch. */
export interface ListedNode extends Omit<KnownNode, 'run' | 'readsFrames' | 'isLost'> {
  /** Name of its data directory. */
  name: string
  state: NodeState
  stateAt: number
  /** True while a process runs as the node, even if other nodes do not reach it. */
  isLocked: boolean
  /** Its last heartbeat; null if it never sent one. */
  seenAt: number | null
  /** Records whose content is on the node, and the bytes of their distinct DAGs. Up to ten seconds old. */
  records: number
  bytes: number
  /** Its records when it began to retire, or to be forgotten; null for an active node. */
  total: number | null
  /** Sentences about what the node waits for after a set-back. Up to ten seconds old. */
  waits: string[]
}

export interface FleetNodes {
  /** Reports this node as running, periodically. Calls `onReport` at each report. */
  start(onReport?: () => void): Promise<void>
  /** Announces the shutdown, so that other nodes send no new work and wait for running work. */
  leave(): Promise<void>
  stop(): Promise<void>
  /**
   * Returns the nodes that have an address, as they were up to two seconds ago.
   * @param isFresh asks the database at once, for a node that may have started again meanwhile
   * @throws HoldfastError `UNAVAILABLE`
   */
  all(isFresh?: boolean): Promise<KnownNode[]>
  /** Returns all nodes, also those that have ended, in the order of their numbers. */
  list(): Promise<ListedNode[]>
  /**
   * Begins to move the content of a node to another node. The other node copies it in the background.
   *
   * @throws HoldfastError `NOT_FOUND`; `CONFLICT` if a node is down, a configuration still keeps clusters on the node,
   * or its content is on another system
   */
  retire(id: string, to: string): Promise<void>
  /**
   * Gives up a lost node. The nodes of its clusters take over its records in the background.
   *
   * @param options.isReplaced true if a new directory will run under the id, and take over its clusters
   * @throws HoldfastError `NOT_FOUND`; `CONFLICT` if a process runs as the node, or a configuration still names it
   */
  forget(id: string, options?: { isReplaced?: boolean }): Promise<void>
  /** Returns whether this node has written a heartbeat since its start. */
  hasReported(): boolean
  /** Returns the time in ms for which this node has reported without a break. */
  unbrokenMs(): number
  /**
   * Has other nodes copy what nodes have that will be away for long.
   *
   * @throws HoldfastError `NOT_FOUND` for a node without copies; `CONFLICT` for one that is up
   */
  confirmAway(ids: readonly string[]): Promise<void>
  /** Returns a page of the records whose content was lost with a node, by account. */
  lost(request: PageRequest & { account?: string | undefined }): Promise<Page<LostRecord>>
}

/** A record whose content was lost with a node, and is not complete again. */
export interface LostRecord {
  accountId: string
  clusterId: string
  cid: string
  name: string | null
  /** In bytes. */
  size: number
  status: PinStatus
  statusReason: string | null
  uploadId: string
  /** The id of the lost node. */
  node: string
}

export interface SharedPlace {
  node: number
  /** When the last record of the DAG expires, in milliseconds since the epoch; null for never. */
  liveUntil: number | null
  /** True for the root of a record; false for a file below such a root. */
  isRoot: boolean
  /** Owner of the root. */
  owner: number
  /** Multicodec code of the root. */
  codec: number
}

export interface SharedPlaces {
  /**
   * Returns the nodes whose live roots let a possessor use the content: one entry per root, up to a fixed number. A
   * visitor is a possessor without roots of its own.
   */
  find(multihash: Uint8Array, by: Possessor): Promise<SharedPlace[]>
}
