export interface Fleet {
  nodes: FleetNodes
  /** The secret with which nodes authenticate to each other. */
  secret: Uint8Array
  /** Random value, new at each start of this node. The node refuses requests that were signed for an earlier run. */
  run: string
  load(): Promise<object>
}

export interface NodeAddress {
  id: string
  url: string
}

export interface KnownNode extends NodeAddress {
  /** Distinguishes the backends of this node from the backends of other nodes. */
  number: number
  /** True if the node has recently reported that it is running. */
  isThere: boolean
  /** True while the node shuts down and accepts no new work. */
  isLeaving: boolean
  /** As {@link Fleet.run}; null if the node does not report the value. */
  run: string | null
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
}

export interface SharedPlace {
  node: number
  /** When the last record of the DAG expires, in milliseconds since the epoch; null for never. */
  liveUntil: number | null
  /** True for the root of a record; false for a file below such a root. */
  isRoot: boolean
}

export interface SharedPlaces {
  /** Returns the nodes that store the content at the instant `now`: one entry per root, up to a fixed number. */
  find(multihash: Uint8Array, now: number): Promise<SharedPlace[]>
}
