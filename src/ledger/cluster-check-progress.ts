export interface ClusterCheck {
  /** The location of the backend at this check. */
  place: string
  /** In ms since the epoch. */
  beganAt: number
  /** Last placement that was checked; null if the check has ended. */
  lastPlacement: number | null
}

/** Stores the progress of the checks of external backends across restarts. */
export interface ClusterCheckProgress {
  /** Returns undefined if the backend was never checked. */
  get(backendId: number): ClusterCheck | undefined
  set(backendId: number, check: ClusterCheck): Promise<void>
}
