import type { Database, Statement } from '../../storage/database.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { ClearSecret, SecondFactorRow, SecondFactorStore } from '../second-factors.ts'

type StoredRow = SecondFactorRow & { accountId: string; sealed: number }

/** The rows of `second_factors` and `recovery_codes`. */
export class SqliteSecondFactors implements SecondFactorStore {
  readonly #db: Database
  readonly #writes: WriteQueue
  readonly #hasAccount: Statement<[string], unknown>
  readonly #get: Statement<[string], SecondFactorRow>
  readonly #put: Statement<[string, Uint8Array], unknown>
  readonly #enable: Statement<[number, number, string, Uint8Array, number], unknown>
  readonly #useStep: Statement<[number, string, Uint8Array, number], unknown>
  readonly #inClear: Statement<[], ClearSecret>
  readonly #all: Statement<[], StoredRow>
  readonly #clear: Statement<[], unknown>
  readonly #restore: Statement<[string, Uint8Array, number | null, number, number], unknown>
  readonly #delete: Statement<[string], unknown>
  readonly #insertCode: Statement<[string, Uint8Array], unknown>
  readonly #deleteCode: Statement<[string, Uint8Array], unknown>
  readonly #deleteCodes: Statement<[string], unknown>

  constructor(db: Database, writes: WriteQueue) {
    this.#db = db
    this.#writes = writes
    this.#hasAccount = db.prepare('SELECT 1 FROM accounts WHERE id = ? AND deleted_at IS NULL')
    this.#get = db.prepare(`
      SELECT secret, enabled_at AS enabledAt, last_step AS lastStep FROM second_factors WHERE account_id = ?`)
    this.#put = db.prepare(`
      INSERT OR REPLACE INTO second_factors (account_id, secret, enabled_at, last_step, sealed) VALUES (?, ?, NULL, -1, 1)`)
    this.#enable = db.prepare(`
      UPDATE second_factors SET enabled_at = ?, last_step = ?
      WHERE account_id = ? AND secret = ? AND enabled_at IS NULL AND last_step < ?`)
    this.#useStep = db.prepare(`
      UPDATE second_factors SET last_step = ?
      WHERE account_id = ? AND secret = ? AND enabled_at IS NOT NULL AND last_step < ?`)
    this.#inClear = db.prepare('SELECT account_id AS accountId, secret AS clear FROM second_factors WHERE sealed = 0')
    this.#all = db.prepare(`
      SELECT account_id AS accountId, secret, enabled_at AS enabledAt, last_step AS lastStep, sealed FROM second_factors`)
    this.#clear = db.prepare('DELETE FROM second_factors')
    this.#restore = db.prepare(`
      INSERT INTO second_factors (account_id, secret, enabled_at, last_step, sealed) VALUES (?, ?, ?, ?, ?)`)
    this.#delete = db.prepare('DELETE FROM second_factors WHERE account_id = ?')
    this.#insertCode = db.prepare('INSERT INTO recovery_codes (account_id, hash) VALUES (?, ?)')
    this.#deleteCode = db.prepare('DELETE FROM recovery_codes WHERE account_id = ? AND hash = ?')
    this.#deleteCodes = db.prepare('DELETE FROM recovery_codes WHERE account_id = ?')
  }

  async get(accountId: string): Promise<SecondFactorRow | null> {
    return this.#get.get(accountId) ?? null
  }

  begin(accountId: string, secret: Uint8Array): Promise<'begun' | 'enabled' | 'no_account'> {
    return this.#write(() => {
      if (this.#hasAccount.get(accountId) === undefined) return 'no_account'
      if (this.#isEnabled(accountId)) return 'enabled'
      this.#put.run(accountId, secret)
      return 'begun'
    })
  }

  enable(
    accountId: string,
    { secret, step }: { secret: Uint8Array; step: number },
    at: number,
    recoveryHashes: readonly Uint8Array[],
  ): Promise<boolean> {
    return this.#write(() => {
      if (this.#enable.run(at, step, accountId, secret, step).changes === 0) return false
      this.#deleteCodes.run(accountId)
      for (const hash of recoveryHashes) this.#insertCode.run(accountId, hash)
      return true
    })
  }

  useStep(accountId: string, { secret, step }: { secret: Uint8Array; step: number }): Promise<boolean> {
    return this.#write(() => this.#useStep.run(step, accountId, secret, step).changes > 0)
  }

  useRecoveryCode(accountId: string, hash: Uint8Array): Promise<boolean> {
    return this.#write(() => this.#isEnabled(accountId) && this.#deleteCode.run(accountId, hash).changes > 0)
  }

  async inClear(): Promise<ClearSecret[]> {
    return this.#inClear.all()
  }

  seal(secrets: ReadonlyArray<ClearSecret & { sealed: Uint8Array }>): Promise<void> {
    return this.#write(() => {
      const sealedOf = new Map(secrets.map(({ accountId, sealed }) => [accountId, sealed]))
      const rows = this.#all.all()
      // An update would leave the bytes in the free parts of pages; pages that are given up are overwritten.
      this.#overwriteFreed(true)
      this.#clear.run()
      this.#overwriteFreed(false)
      for (const row of rows) {
        const sealed = row.sealed === 0 ? sealedOf.get(row.accountId) : undefined
        const isSealed = sealed === undefined ? row.sealed : 1
        this.#restore.run(row.accountId, sealed ?? row.secret, row.enabledAt, row.lastStep, isSealed)
      }
    })
  }

  disable(accountId: string): Promise<boolean> {
    return this.#write(() => {
      const was = this.#isEnabled(accountId)
      this.#deleteCodes.run(accountId)
      this.#delete.run(accountId)
      return was
    })
  }

  #overwriteFreed(on: boolean): void {
    // SQLite carries this out where it is prepared, so it cannot be kept for later.
    this.#db.prepare(`PRAGMA secure_delete = ${on ? 'ON' : 'OFF'}`).all()
  }

  #isEnabled(accountId: string): boolean {
    const enabledAt = this.#get.get(accountId)?.enabledAt
    return enabledAt !== undefined && enabledAt !== null
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#writes.run(work, { durable: true })
  }
}
