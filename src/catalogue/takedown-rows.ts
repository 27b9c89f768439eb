/** Content that the owner has taken down, on all nodes of the catalogue. */
export interface TakedownRow {
  /** The CID in its normal form, which is the same on all nodes. */
  cid: string
  /** Path below the CID. Empty for the block of the CID and everything below it. */
  path: string
  status: 410 | 451
  reason: string
  /** Milliseconds since the epoch. */
  at: number
}

/**
 * A current or lifted takedown. Lifted ones are included, so that a node can tell a takedown that was lifted from one
 * that the database has lost.
 */
export interface KnownTakedown extends TakedownRow {
  /** Milliseconds since the epoch; null while the takedown is in force. */
  liftedAt: number | null
}

/** The takedowns of all nodes. Each method is one transaction. */
export interface TakedownRows {
  /** Returns all current and lifted takedowns, oldest first. */
  all(): Promise<KnownTakedown[]>
  /** Takes content down. An existing takedown gets the new reason and status. */
  put(takedown: TakedownRow): Promise<void>
  /** Lifts a takedown, so that the content is served again. Returns whether one was in force. */
  lift(takedown: Pick<TakedownRow, 'cid' | 'path'>, at: number): Promise<boolean>
  /** Inserts takedowns that the database does not have. Existing rows stay unchanged. */
  adopt(takedowns: readonly TakedownRow[]): Promise<void>
}
