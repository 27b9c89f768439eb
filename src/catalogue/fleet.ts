/** The nodes that share a catalogue, from the view of one of them. */
export interface Fleet {
  nodes: FleetNodes
  /** The sealed secret with which nodes authenticate to each other. */
  secret: Uint8Array
  /** Random for each start of this node. Requests signed for an earlier run are refused. */
  run: string
  /** Loads the modules for requests between nodes: a `FleetSystem`. */
  load(): Promise<object>
}

/** A node's name, and the URL of its API. */
export interface NodeAddress {
  id: string
  url: string
}

/** A node of the catalogue. */
export interface KnownNode extends NodeAddress {
  /** Distinguishes its backends from those of other nodes. */
  number: number
  /** True if the node has reported itself recently. */
  isThere: boolean
  /** True while the node is shutting down: it finishes its work and accepts nothing new. */
  isLeaving: boolean
  /** Random for each start of the node; null if its version does not have this. */
  run: string | null
}

/** The register of nodes. Each node reports its own state. */
export interface FleetNodes {
  /** Reports this node as running, and repeats that periodically. Calls `onReport` each time. */
  start(onReport?: () => void): Promise<void>
  /** Reports that this node is shutting down. Other nodes send it nothing new, and wait for its running work. */
  leave(): Promise<void>
  /** Reports that this node has stopped. */
  stop(): Promise<void>
  /** Returns the nodes that can be reached. @throws HoldfastError `UNAVAILABLE` */
  all(): Promise<KnownNode[]>
}

/** A node that keeps a DAG for a record. */
export interface SharedPlace {
  node: number
  /** When the last of its records expires, in milliseconds since the epoch; null for never. */
  liveUntil: number | null
  /** True if the DAG is the root of a record; false if it is a file below one. */
  isRoot: boolean
}

/** The lookup of nodes by content: by the roots of records, and by the files listed below them. */
export interface SharedPlaces {
  /**
   * Returns the nodes that keep content at an instant, as a root or as a file of a directory. The list has one entry
   * per root, up to a fixed number.
   */
  find(multihash: Uint8Array, now: number): Promise<SharedPlace[]>
}
