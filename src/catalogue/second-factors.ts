/** The second factor of an account. Times are milliseconds since the epoch. */
export interface SecondFactorRow {
  /** The sealed secret. The store cannot read it. */
  secret: Uint8Array
  /** When setup was completed; null until then. */
  enabledAt: number | null
  /** The time step of the newest accepted code; -1 for none. */
  lastStep: number
}

/** An unsealed secret, stored by an early version. */
export interface ClearSecret {
  accountId: string
  clear: Uint8Array
}

/**
 * The store of second factors and recovery codes. Each method is one transaction, durable when its promise resolves.
 */
export interface SecondFactorStore {
  get(accountId: string): Promise<SecondFactorRow | null>
  /**
   * Stores a new secret, which {@link enable} activates later. Replaces a secret that is not enabled yet. Returns
   * `enabled` if the account already has an enabled secret.
   */
  begin(accountId: string, secret: Uint8Array): Promise<'begun' | 'enabled' | 'no_account'>
  /**
   * Enables the pending secret if it equals `secret`, marks the code of `step` as used, and replaces all recovery
   * codes. Returns false if the secret differs or is already enabled, or `step` was used before.
   */
  enable(
    accountId: string,
    code: { secret: Uint8Array; step: number },
    at: number,
    recoveryHashes: readonly Uint8Array[],
  ): Promise<boolean>
  /**
   * Marks the code of `step` as used. Returns false if `secret` is not the enabled secret, or if `step` is not newer
   * than the last used step.
   */
  useStep(accountId: string, code: { secret: Uint8Array; step: number }): Promise<boolean>
  /** Deletes a recovery code. Returns whether the code existed. */
  useRecoveryCode(accountId: string, hash: Uint8Array): Promise<boolean>
  /** Returns all unsealed secrets. */
  inClear(): Promise<ClearSecret[]>
  /**
   * Replaces unsealed secrets with sealed secrets in one transaction. Erases the unsealed bytes from the database file.
   */
  seal(secrets: ReadonlyArray<ClearSecret & { sealed: Uint8Array }>): Promise<void>
  /** Removes the secret and the recovery codes. Returns whether a second factor was enabled. */
  disable(accountId: string): Promise<boolean>
}
