/** How far the last check of a backend elsewhere came. */
export interface ClusterCheck {
  /** The place that was checked. */
  place: string
  /** In milliseconds since the epoch. */
  beganAt: number
  /** Id of the last placement that was checked; null once the check ended. */
  lastPlacement: number | null
}

/** Keeps how far the checks of backends elsewhere came, across restarts; by the backend's number in the ledger. */
export interface ClusterCheckProgress {
  /** Undefined before the first check of a backend. */
  get(backendId: number): ClusterCheck | undefined
  set(backendId: number, check: ClusterCheck): Promise<void>
}
