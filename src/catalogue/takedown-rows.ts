/** Content that an owner has taken down on all nodes. */
export interface TakedownRow {
  /** The CID in normalised form, which is the same on all nodes. */
  cid: string
  /** Path below the CID. An empty path covers the block of the CID and everything below the block. */
  path: string
  status: 410 | 451
  reason: string
  /** In milliseconds since the epoch. */
  at: number
}

/**
 * A takedown that is in force or was lifted. A node must distinguish a lifted takedown from one that the database has
 * lost.
 */
export interface KnownTakedown extends TakedownRow {
  /** In milliseconds since the epoch; null while the takedown is in force. */
  liftedAt: number | null
}

/** Each method is one transaction. */
export interface TakedownRows {
  /** Returns all takedowns, oldest first. */
  all(): Promise<KnownTakedown[]>
  /** Takes content down, or replaces the reason and status of an existing takedown. */
  put(takedown: TakedownRow): Promise<void>
  /** Returns whether a takedown was in force. */
  lift(takedown: Pick<TakedownRow, 'cid' | 'path'>, at: number): Promise<boolean>
  /** Inserts the takedowns that the database does not have. */
  adopt(takedowns: readonly TakedownRow[]): Promise<void>
}
