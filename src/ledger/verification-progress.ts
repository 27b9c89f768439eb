/** The progress of a verification round. */
export interface VerificationState {
  /** Id of the last checked block; 0 between two rounds. */
  lastBlock: number
  /** Number of blocks checked in the current round; between two rounds, the number of the last round. */
  blocks: number
  damaged: number
  /**
   * When the last round ended, in milliseconds since the epoch. Before the first round ends, when the node first
   * started.
   */
  endedAt: number
}

/** Stores the progress of verification across restarts. */
export interface VerificationProgress {
  /** Returns the progress; undefined before the first start. */
  get(): VerificationState | undefined
  set(state: VerificationState): Promise<void>
}
