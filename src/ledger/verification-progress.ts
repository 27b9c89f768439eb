/** How far a round of verification has come. */
export interface VerificationState {
  /** Id of the last block that was checked; 0 between two rounds. */
  lastBlock: number
  /** Checked in this round, or in all of the last one. */
  blocks: number
  damaged: number
  /** When the last round ended, or the first start was, in milliseconds since the epoch. */
  endedAt: number
}

/** Keeps how far verification has come, across restarts. */
export interface VerificationProgress {
  /** Undefined before the first start. */
  get(): VerificationState | undefined
  set(state: VerificationState): Promise<void>
}
