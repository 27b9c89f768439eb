export interface StateCount {
  kind: string
  state: string
  count: number
  bytes: number
}

/** Totals of the stored rows and bytes, read at constant cost. */
export interface Census {
  counters(): Promise<StateCount[]>
  /**
   * Returns the request time of the oldest unfinished fetch, in milliseconds since the epoch; null if there is none.
   */
  oldestFetchAt(): Promise<number | null>
  databaseBytes(): number
}
