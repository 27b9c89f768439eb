/** Progress of a round of verification. */
export interface VerificationState {
  /** Id of the last checked block; 0 between two rounds. */
  lastBlock: number
  /** Blocks checked in this round, or in the last whole one. */
  blocks: number
  damaged: number
  /** End of the last round, or time of the first start, in milliseconds since the epoch. */
  endedAt: number
}

/** Stores the progress of verification across restarts. */
export interface VerificationProgress {
  /** Returns undefined before the first start. */
  get(): VerificationState | undefined
  set(state: VerificationState): Promise<void>
}
