/** Number of rows of a kind and state, and the sum of their bytes. */
export interface StateCount {
  kind: string
  state: string
  count: number
  bytes: number
}

/** Totals of what is stored. Each call costs about the same whatever the totals are. */
export interface Census {
  counters(): Promise<StateCount[]>
  /** Returns when the oldest unfinished fetch was requested, in milliseconds since the epoch; null if there is none. */
  oldestFetchAt(): Promise<number | null>
  /** Returns the size of the database, including the blocks inside it. */
  databaseBytes(): number
}
