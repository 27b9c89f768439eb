/** Progress of the last check of an external backend. */
export interface ClusterCheck {
  /** The place that was checked. */
  place: string
  /** In milliseconds since the epoch. */
  beganAt: number
  /** Id of the last placement that was checked; null once the check ended. */
  lastPlacement: number | null
}

/** Stores the progress of the checks of external backends, by backend number, across restarts. */
export interface ClusterCheckProgress {
  /** Returns undefined before the first check of a backend. */
  get(backendId: number): ClusterCheck | undefined
  set(backendId: number, check: ClusterCheck): Promise<void>
}
