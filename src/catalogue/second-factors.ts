/** The second factor of an account. Times are milliseconds since the epoch. */
export interface SecondFactorRow {
  /** Sealed, so the store cannot read it. */
  secret: Uint8Array
  /** Null until setup is complete. */
  enabledAt: number | null
  /** The time step of the newest accepted code; -1 if there is none. */
  lastStep: number
}

/** An unsealed secret, stored by an earlier version. */
export interface ClearSecret {
  accountId: string
  clear: Uint8Array
}

/**
 * The store of second factors and recovery codes. Each method is one transaction, durable when its promise resolves.
 */
export interface SecondFactorStore {
  get(accountId: string): Promise<SecondFactorRow | null>
  /** Stores a new secret to be enabled later. Replaces a secret that is not enabled yet. */
  begin(accountId: string, secret: Uint8Array): Promise<'begun' | 'enabled' | 'no_account'>
  /**
   * Enables the second factor if its pending secret is `secret`, and marks the code of `step` as used. Replaces all
   * recovery codes. Returns whether the secret matched.
   */
  enable(
    accountId: string,
    code: { secret: Uint8Array; step: number },
    at: number,
    recoveryHashes: readonly Uint8Array[],
  ): Promise<boolean>
  /**
   * Marks the code of `step` as used. Returns false if `secret` is not the enabled one, or `step` is not newer than the
   * last used one.
   */
  useStep(accountId: string, code: { secret: Uint8Array; step: number }): Promise<boolean>
  /** Uses up a recovery code. Returns whether it existed. */
  useRecoveryCode(accountId: string, hash: Uint8Array): Promise<boolean>
  /** Returns all secrets that are not sealed. */
  inClear(): Promise<ClearSecret[]>
  /** Replaces unsealed secrets by sealed ones, all or none, and erases the unsealed bytes from the database file. */
  seal(secrets: ReadonlyArray<ClearSecret & { sealed: Uint8Array }>): Promise<void>
  /** Removes the secret and the recovery codes. Returns whether a second factor was enabled. */
  disable(accountId: string): Promise<boolean>
}
