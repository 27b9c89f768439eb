/** Content that the owner has taken down, on all nodes that share the catalogue. */
export interface TakedownRow {
  /** In the form in which all nodes write it. */
  cid: string
  /** Below the CID; empty for the block itself and so for all below it. */
  path: string
  status: 410 | 451
  reason: string
  /** Milliseconds since the epoch. */
  at: number
}

/** What is or was taken down. What was lifted is told as well: what a node knows and is not told of was lost here. */
export interface KnownTakedown extends TakedownRow {
  /** Milliseconds since the epoch; null while it is taken down. */
  liftedAt: number | null
}

/** The takedowns of all nodes. Each method is one transaction. */
export interface TakedownRows {
  /** All there are or were, the oldest first. */
  all(): Promise<KnownTakedown[]>
  /** Takes content down; what is down already gets the new reason and status. */
  put(takedown: TakedownRow): Promise<void>
  /** Lets content be served again. Returns whether it was taken down. */
  lift(takedown: Pick<TakedownRow, 'cid' | 'path'>, at: number): Promise<boolean>
  /** Puts in what is not known, and leaves what is. */
  adopt(takedowns: readonly TakedownRow[]): Promise<void>
}
