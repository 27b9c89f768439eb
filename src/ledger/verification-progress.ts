export interface VerificationState {
  /** Last checked block; 0 between two rounds. */
  lastBlock: number
  /** Blocks checked in the current round; between two rounds, in the last round. */
  blocks: number
  damaged: number
  /** End of the last round in ms since the epoch; before the first round ends, the time of the first start. */
  endedAt: number
}

/** Stores the progress of verification across restarts. */
export interface VerificationProgress {
  /** Returns undefined before the first start. */
  get(): VerificationState | undefined
  set(state: VerificationState): Promise<void>
}
