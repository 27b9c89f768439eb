/** Content that an owner has taken down. The takedown applies to all nodes of the catalogue. */
export interface TakedownRow {
  /** The CID in normalised form, which is the same on all nodes. */
  cid: string
  /**
   * Path below the CID. If the path is empty, the takedown covers the block of the CID and everything below the block.
   */
  path: string
  status: 410 | 451
  reason: string
  /** When the content was taken down, in milliseconds since the epoch. */
  at: number
}

/**
 * A takedown that is in force or was lifted. Lifted takedowns are included so that a node can distinguish a lifted
 * takedown from a takedown that the database has lost.
 */
export interface KnownTakedown extends TakedownRow {
  /** When the takedown was lifted, in milliseconds since the epoch; null while it is in force. */
  liftedAt: number | null
}

/** The takedowns of all nodes. Each method is one transaction. */
export interface TakedownRows {
  /** Returns all takedowns, in force or lifted, oldest first. */
  all(): Promise<KnownTakedown[]>
  /** Takes content down. If a takedown already exists, replaces its reason and status. */
  put(takedown: TakedownRow): Promise<void>
  /** Lifts a takedown, so that the nodes serve the content again. Returns whether a takedown was in force. */
  lift(takedown: Pick<TakedownRow, 'cid' | 'path'>, at: number): Promise<boolean>
  /** Inserts the given takedowns that the database does not have. Existing rows stay unchanged. */
  adopt(takedowns: readonly TakedownRow[]): Promise<void>
}
