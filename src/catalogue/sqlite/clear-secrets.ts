import type { Database } from '../../storage/database.ts'
import { WithStatements } from '../../storage/with-statements.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { ClearSecrets } from '../rules/second-factor-rules.ts'
import type { ClearSecret, SecondFactorRow } from '../second-factors.ts'

type StoredRow = SecondFactorRow & { accountId: string; sealed: number }

/** Secrets of second factors that the first versions stored unsealed. */
export class SqliteClearSecrets extends WithStatements implements ClearSecrets {
  readonly #writes: WriteQueue
  readonly #inClear = this.db.prepare<[], ClearSecret>(`
    SELECT account_id AS accountId, secret AS clear FROM second_factors WHERE sealed = 0`)
  readonly #all = this.db.prepare<[], StoredRow>(`
    SELECT account_id AS accountId, secret, enabled_at AS enabledAt, last_step AS lastStep, sealed FROM second_factors`)
  readonly #clear = this.db.prepare<[]>('DELETE FROM second_factors')
  readonly #restore = this.db.prepare<[string, Uint8Array, number | null, number, number]>(`
    INSERT INTO second_factors (account_id, secret, enabled_at, last_step, sealed) VALUES (?, ?, ?, ?, ?)`)

  constructor(db: Database, writes: WriteQueue) {
    super(db)
    this.#writes = writes
  }

  async inClear(): Promise<ClearSecret[]> {
    return this.#inClear.all()
  }

  seal(secrets: ReadonlyArray<ClearSecret & { sealed: Uint8Array }>): Promise<void> {
    const work = (): void => {
      const sealedOf = new Map(secrets.map(({ accountId, sealed }) => [accountId, sealed]))
      const rows = this.#all.all()
      // An update would leave the old bytes in free space of the pages. So all rows are deleted with overwriting, and
      // inserted again.
      this.#overwriteFreed(true)
      this.#clear.run()
      this.#overwriteFreed(false)
      for (const row of rows) {
        const sealed = row.sealed === 0 ? sealedOf.get(row.accountId) : undefined
        const isSealed = sealed === undefined ? row.sealed : 1
        this.#restore.run(row.accountId, sealed ?? row.secret, row.enabledAt, row.lastStep, isSealed)
      }
    }
    return this.#writes.run(work, { durable: true })
  }

  #overwriteFreed(on: boolean): void {
    // SQLite executes this pragma when the statement is prepared, so the statement cannot be reused.
    this.db.prepare(`PRAGMA secure_delete = ${on ? 'ON' : 'OFF'}`).all()
  }
}
