/** The nodes that share a catalogue, as one of them sees them. */
export interface Fleet {
  nodes: FleetNodes
  /** The secret that proves that a node is of the fleet, sealed. */
  secret: Uint8Array
  /** Random, made anew with each start: proofs for an earlier run of this node are refused. */
  run: string
  /** Loads the modules by which nodes ask each other: a `FleetSystem`. */
  load(): Promise<object>
}

/** The name of a node among the others, and the address of its API. */
export interface NodeAddress {
  id: string
  url: string
}

/** One of the nodes that share a catalogue. */
export interface KnownNode extends NodeAddress {
  /** By which its backends are told from others'. */
  number: number
  /** Whether it was there a short time ago. */
  isThere: boolean
  /** Whether it is told to end, and only finishes what it has begun. */
  isLeaving: boolean
  /** Random, made anew with each of its starts; null if its version makes none. */
  run: string | null
}

/** The register of nodes, by what each says of itself. */
export interface FleetNodes {
  /** Says that this node is there, goes on saying it, and calls `look` as often. */
  start(look?: () => void): Promise<void>
  /** Says that this node is told to end: others ask nothing new of it, and wait for what it has begun. */
  leave(): Promise<void>
  /** Says that this node is gone. */
  stop(): Promise<void>
  /** Returns the nodes that others can reach. @throws HoldfastError `UNAVAILABLE` */
  all(): Promise<KnownNode[]>
}

/** A place that keeps content for a record. */
export interface SharedPlace {
  /** The number of the node that has it. */
  node: number
  /** When the last record that needs it ends, in milliseconds since the epoch; null for never. */
  liveUntil: number | null
  /** Whether a record has it as its root; otherwise it is a file below one. */
  isRoot: boolean
}

/** The places of content, by the roots of records and the files that are listed below them. */
export interface SharedPlaces {
  /** Returns places that need a root, or a file of a directory, at an instant: one for each root, some of many. */
  find(multihash: Uint8Array, now: number): Promise<SharedPlace[]>
}
