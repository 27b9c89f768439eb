/** Number of rows of a kind and state, and the sum of their bytes. */
export interface StateCount {
  kind: string
  state: string
  count: number
  bytes: number
}

/** Totals of the stored rows and bytes. The cost of a call does not depend on the totals. */
export interface Census {
  counters(): Promise<StateCount[]>
  /**
   * Returns when the oldest unfinished fetch was requested, in milliseconds since the epoch; null if no fetch is
   * unfinished.
   */
  oldestFetchAt(): Promise<number | null>
  /** Returns the size of the database in bytes, including the blocks that it stores. */
  databaseBytes(): number
}
