import type { Database, Statement } from '../../storage/database.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { ClearSecrets } from '../rules/second-factor-rules.ts'
import type { ClearSecret, SecondFactorRow } from '../second-factors.ts'

type StoredRow = SecondFactorRow & { accountId: string; sealed: number }

/** Secrets of second factors that the first versions stored unsealed. */
export class SqliteClearSecrets implements ClearSecrets {
  readonly #db: Database
  readonly #writes: WriteQueue
  readonly #inClear: Statement<[], ClearSecret>
  readonly #all: Statement<[], StoredRow>
  readonly #clear: Statement<[], unknown>
  readonly #restore: Statement<[string, Uint8Array, number | null, number, number], unknown>

  constructor(db: Database, writes: WriteQueue) {
    this.#db = db
    this.#writes = writes
    this.#inClear = db.prepare('SELECT account_id AS accountId, secret AS clear FROM second_factors WHERE sealed = 0')
    this.#all = db.prepare(`
      SELECT account_id AS accountId, secret, enabled_at AS enabledAt, last_step AS lastStep, sealed FROM second_factors`)
    this.#clear = db.prepare('DELETE FROM second_factors')
    this.#restore = db.prepare(`
      INSERT INTO second_factors (account_id, secret, enabled_at, last_step, sealed) VALUES (?, ?, ?, ?, ?)`)
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
    this.#db.prepare(`PRAGMA secure_delete = ${on ? 'ON' : 'OFF'}`).all()
  }
}
