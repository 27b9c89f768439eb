/** The nodes that share a catalogue, as one of these nodes sees them. */
export interface Fleet {
  nodes: FleetNodes
  /** The secret with which nodes authenticate to each other. */
  secret: Uint8Array
  /** Random value, new at each start of this node. The node refuses requests that were signed for an earlier run. */
  run: string
  /** Loads the modules for requests between nodes. The result is a `FleetSystem`. */
  load(): Promise<object>
}

/** A node's name, and the URL of its API. */
export interface NodeAddress {
  id: string
  url: string
}

/** A node that is registered in the catalogue. */
export interface KnownNode extends NodeAddress {
  /** Number that distinguishes the backends of this node from the backends of other nodes. */
  number: number
  /** True if the node has recently reported that it is running. */
  isThere: boolean
  /** True while the node is shutting down: it completes its work and accepts no new work. */
  isLeaving: boolean
  /** Random value, new at each start of the node; null if the node runs a version that does not report the value. */
  run: string | null
}

/** The register of nodes. Each node reports its own state. */
export interface FleetNodes {
  /** Reports this node as running, and repeats the report periodically. Calls `onReport` at each report. */
  start(onReport?: () => void): Promise<void>
  /** Reports that this node is shutting down. Other nodes send it no new work, and wait for its running work to end. */
  leave(): Promise<void>
  /** Reports that this node has stopped. */
  stop(): Promise<void>
  /** Returns the nodes that can be reached. @throws HoldfastError `UNAVAILABLE` */
  all(): Promise<KnownNode[]>
}

/** A node that stores a DAG for a record. */
export interface SharedPlace {
  node: number
  /** When the last record of the DAG expires, in milliseconds since the epoch; null if a record never expires. */
  liveUntil: number | null
  /** True if the DAG is the root of a record; false if it is a file below the root of a record. */
  isRoot: boolean
}

/** Looks up nodes by content: by the roots of records, and by the files below these roots. */
export interface SharedPlaces {
  /**
   * Returns the nodes that store the content at the instant `now`, as the root of a record or as a file below such a
   * root. The list has one entry per root, up to a fixed number.
   */
  find(multihash: Uint8Array, now: number): Promise<SharedPlace[]>
}
