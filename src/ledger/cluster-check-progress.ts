/** Progress of the last check of an external backend. */
export interface ClusterCheck {
  /** The location of the backend at this check. */
  place: string
  /** When the check began, in milliseconds since the epoch. */
  beganAt: number
  /** Id of the last placement that was checked; null if the check has ended. */
  lastPlacement: number | null
}

/** Stores the progress of the checks of external backends across restarts. Each backend has one entry. */
export interface ClusterCheckProgress {
  /** Returns the progress; undefined if the backend was never checked. */
  get(backendId: number): ClusterCheck | undefined
  set(backendId: number, check: ClusterCheck): Promise<void>
}
