/** How many of a kind and state there are, and their bytes together. */
export interface StateCount {
  kind: string
  state: string
  count: number
  bytes: number
}

/** How much is stored; asking costs about the same however much it is. */
export interface Census {
  counters(): Promise<StateCount[]>
  /** Since when the oldest fetch is wanted that is still tried; null if none is. In milliseconds since the epoch. */
  oldestFetchAt(): Promise<number | null>
  /** Of the database itself, small blocks included. */
  databaseBytes(): number
}
