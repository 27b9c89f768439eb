import { HoldfastError } from '../../domain/errors.ts'
import type { ClearSecret, SecondFactorRow, SecondFactorStore } from '../second-factors.ts'
import { lockedAccount } from './accounts.ts'
import type { Postgres } from './postgres.ts'
import type { Sql } from './sql.ts'

/** The rows of `second_factors` and `recovery_codes`. */
export class PostgresSecondFactors implements SecondFactorStore {
  readonly #database: Postgres

  constructor(database: Postgres) {
    this.#database = database
  }

  async get(accountId: string): Promise<SecondFactorRow | null> {
    const text = `SELECT secret, enabled_at AS "enabledAt", last_step AS "lastStep"
      FROM second_factors WHERE account_id = $1`
    return (await this.#database.reading.first<SecondFactorRow>(text, [accountId])) ?? null
  }

  begin(accountId: string, secret: Uint8Array): Promise<'begun' | 'enabled' | 'no_account'> {
    return this.#database.transaction(async sql => {
      if ((await lockedAccount(sql, accountId)) === null) return 'no_account'
      if (await isEnabled(sql, accountId)) return 'enabled'
      await sql.run(
        `INSERT INTO second_factors (account_id, secret, last_step) VALUES ($1, $2, -1)
         ON CONFLICT (account_id) DO UPDATE SET secret = excluded.secret, last_step = -1`,
        [accountId, secret],
      )
      return 'begun'
    }, accountId)
  }

  enable(
    accountId: string,
    { secret, step }: { secret: Uint8Array; step: number },
    at: number,
    recoveryHashes: readonly Uint8Array[],
  ): Promise<boolean> {
    return this.#database.transaction(async sql => {
      const enabled = await sql.run(
        `UPDATE second_factors SET enabled_at = $4, last_step = $3
         WHERE account_id = $1 AND secret = $2 AND enabled_at IS NULL AND last_step < $3`,
        [accountId, secret, step, at],
      )
      if (enabled === 0) return false
      await sql.run('DELETE FROM recovery_codes WHERE account_id = $1', [accountId])
      await sql.run('INSERT INTO recovery_codes (account_id, hash) SELECT $1, unnest($2::bytea[])', [
        ...[accountId, recoveryHashes],
      ])
      return true
    })
  }

  async useStep(accountId: string, { secret, step }: { secret: Uint8Array; step: number }): Promise<boolean> {
    const text = `UPDATE second_factors SET last_step = $3
      WHERE account_id = $1 AND secret = $2 AND enabled_at IS NOT NULL AND last_step < $3`
    return (await this.#database.command(text, [accountId, secret, step])) > 0
  }

  async useRecoveryCode(accountId: string, hash: Uint8Array): Promise<boolean> {
    const text = `DELETE FROM recovery_codes WHERE account_id = $1 AND hash = $2 AND EXISTS (
      SELECT 1 FROM second_factors WHERE account_id = $1 AND enabled_at IS NOT NULL)`
    return (await this.#database.command(text, [accountId, hash])) > 0
  }

  /** None: no version has ever written one here. */
  async inClear(): Promise<ClearSecret[]> {
    return []
  }

  async seal(secrets: readonly ClearSecret[]): Promise<void> {
    if (secrets.length > 0) throw new HoldfastError('INTERNAL_ERROR', 'no second factor is stored in clear here')
  }

  disable(accountId: string): Promise<boolean> {
    return this.#database.transaction(async sql => {
      await sql.run('DELETE FROM recovery_codes WHERE account_id = $1', [accountId])
      const text = 'DELETE FROM second_factors WHERE account_id = $1 RETURNING enabled_at AS "enabledAt"'
      const gone = await sql.first<{ enabledAt: number | null }>(text, [accountId])
      return gone !== undefined && gone.enabledAt !== null
    })
  }
}

async function isEnabled(sql: Sql, accountId: string): Promise<boolean> {
  const text = 'SELECT 1 FROM second_factors WHERE account_id = $1 AND enabled_at IS NOT NULL'
  return (await sql.first(text, [accountId])) !== undefined
}
