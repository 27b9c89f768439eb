import type { Database, Statement } from '../../storage/database.ts'

export interface SecondFactorRow {
  secret: Uint8Array
  /** Null while it is being set up. */
  enabledAt: number | null
  /** The time step of the newest code that was taken; -1 for none. */
  lastStep: number
}

/** The rows of `second_factors` and `recovery_codes`. */
export class SecondFactorTable {
  readonly #get: Statement<[string], SecondFactorRow>
  readonly #put: Statement<[string, Uint8Array], unknown>
  readonly #enable: Statement<[number, string], unknown>
  readonly #useStep: Statement<[number, string, number], unknown>
  readonly #delete: Statement<[string], unknown>
  readonly #insertCode: Statement<[string, Uint8Array], unknown>
  readonly #deleteCode: Statement<[string, Uint8Array], unknown>
  readonly #deleteCodes: Statement<[string], unknown>

  constructor(db: Database) {
    this.#get = db.prepare(`
      SELECT secret, enabled_at AS enabledAt, last_step AS lastStep FROM second_factors WHERE account_id = ?`)
    this.#put = db.prepare(`
      INSERT OR REPLACE INTO second_factors (account_id, secret, enabled_at, last_step) VALUES (?, ?, NULL, -1)`)
    this.#enable = db.prepare('UPDATE second_factors SET enabled_at = ? WHERE account_id = ?')
    this.#useStep = db.prepare('UPDATE second_factors SET last_step = ? WHERE account_id = ? AND last_step < ?')
    this.#delete = db.prepare('DELETE FROM second_factors WHERE account_id = ?')
    this.#insertCode = db.prepare('INSERT INTO recovery_codes (account_id, hash) VALUES (?, ?)')
    this.#deleteCode = db.prepare('DELETE FROM recovery_codes WHERE account_id = ? AND hash = ?')
    this.#deleteCodes = db.prepare('DELETE FROM recovery_codes WHERE account_id = ?')
  }

  get(accountId: string): SecondFactorRow | undefined {
    return this.#get.get(accountId)
  }

  /** A new secret, still to be enabled, in place of the one before. */
  put(accountId: string, secret: Uint8Array): void {
    this.#put.run(accountId, secret)
  }

  enable(accountId: string, at: number, recoveryCodes: readonly Uint8Array[]): void {
    this.#enable.run(at, accountId)
    this.#deleteCodes.run(accountId)
    for (const hash of recoveryCodes) this.#insertCode.run(accountId, hash)
  }

  /** Returns whether the step is newer than all that have been used. */
  useStep(accountId: string, step: number): boolean {
    return this.#useStep.run(step, accountId, step).changes > 0
  }

  /** Returns whether there was such a code. */
  useRecoveryCode(accountId: string, hash: Uint8Array): boolean {
    return this.#deleteCode.run(accountId, hash).changes > 0
  }

  /** Returns whether there was one. */
  delete(accountId: string): boolean {
    this.#deleteCodes.run(accountId)
    return this.#delete.run(accountId).changes > 0
  }
}
