/** The second factor of an account. Times are milliseconds since the epoch. */
export interface SecondFactorRow {
  /** Sealed: the store cannot read it. */
  secret: Uint8Array
  /** Null while it is being set up. */
  enabledAt: number | null
  /** The time step of the newest code that was taken; -1 for none. */
  lastStep: number
}

/** A secret that an earlier version has stored in clear. */
export interface ClearSecret {
  accountId: string
  clear: Uint8Array
}

/** Where second factors and recovery codes are kept. Each method is one transaction, durable when its promise resolves. */
export interface SecondFactorStore {
  get(accountId: string): Promise<SecondFactorRow | null>
  /** A new secret, still to be enabled, in place of one that has not been. */
  begin(accountId: string, secret: Uint8Array): Promise<'begun' | 'enabled' | 'no_account'>
  /**
   * Enables the one that is being set up with `secret`, and uses up the code of `step`. Returns whether there is such a
   * one; only the recovery codes with these hashes are good from then on.
   */
  enable(
    accountId: string,
    code: { secret: Uint8Array; step: number },
    at: number,
    recoveryHashes: readonly Uint8Array[],
  ): Promise<boolean>
  /** Returns whether `secret` is the one that is enabled, and `step` newer than all that have been used. */
  useStep(accountId: string, code: { secret: Uint8Array; step: number }): Promise<boolean>
  /** Returns whether there was such a code. */
  useRecoveryCode(accountId: string, hash: Uint8Array): Promise<boolean>
  /** All that are stored in clear. */
  inClear(): Promise<ClearSecret[]>
  /** Puts sealed secrets in the place of the clear ones, all or none, and leaves nothing of those behind. */
  seal(secrets: ReadonlyArray<ClearSecret & { sealed: Uint8Array }>): Promise<void>
  /** Removes secret and codes. Returns whether one was enabled. */
  disable(accountId: string): Promise<boolean>
}
