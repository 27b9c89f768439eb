import type { SecondFactorRow, SecondFactorStore } from '../second-factors.ts'
import { LOCKED_ACCOUNT } from './account-rows.ts'
import { either } from './dialect.ts'
import { type CatalogueDriver, first, run } from './driver.ts'
import { columns, sql } from './statement.ts'

const factor = columns<SecondFactorRow>({ secret: 'bytes', enabledAt: 'integer', lastStep: 'integer' })

const GET = sql`SELECT ${factor} FROM second_factors WHERE account_id = :accountId`
/** Only SQLite has the column `sealed`, because only SQLite may still have unsealed secrets. */
const PUT = sql`
  INSERT INTO second_factors (account_id, secret, last_step${either(', sealed', '')})
  VALUES (:accountId, :secret, -1${either(', 1', '')})
  ON CONFLICT (account_id) DO UPDATE SET secret = excluded.secret, last_step = -1${either(', sealed = 1', '')}
  WHERE second_factors.enabled_at IS NULL`
const ENABLE = sql`
  UPDATE second_factors SET enabled_at = :at, last_step = :step
  WHERE account_id = :accountId AND secret = :secret AND enabled_at IS NULL AND last_step < :step`
const USE_STEP = sql`
  UPDATE second_factors SET last_step = :step
  WHERE account_id = :accountId AND secret = :secret AND enabled_at IS NOT NULL AND last_step < :step`
const INSERT_CODE = sql`INSERT INTO recovery_codes (account_id, hash) VALUES (:accountId, :hash)`
const USE_CODE = sql`
  DELETE FROM recovery_codes WHERE account_id = :accountId AND hash = :hash
    AND EXISTS (SELECT 1 FROM second_factors WHERE account_id = :accountId AND enabled_at IS NOT NULL)`
export const DROP_CODES = sql`DELETE FROM recovery_codes WHERE account_id = :accountId`
export const DROP_FACTOR = sql<Pick<SecondFactorRow, 'enabledAt'>>`
  DELETE FROM second_factors WHERE account_id = :accountId RETURNING enabled_at AS "enabledAt"`

/** The methods for secrets that an early version stored unsealed. */
export type ClearSecrets = Pick<SecondFactorStore, 'inClear' | 'seal'>

export function secondFactorRules(driver: CatalogueDriver, clear: ClearSecrets): SecondFactorStore {
  return {
    get: accountId => driver.first(GET, { accountId }),
    begin: (accountId, secret) =>
      driver.transaction(
        function* () {
          if ((yield* first(LOCKED_ACCOUNT, { accountId })) === null) return 'no_account'
          return (yield* run(PUT, { accountId, secret })) > 0 ? 'begun' : 'enabled'
        },
        { lane: accountId },
      ),
    enable: (accountId, { secret, step }, at, recoveryHashes) =>
      driver.transaction(function* () {
        if ((yield* run(ENABLE, { accountId, secret, step, at })) === 0) return false
        yield* run(DROP_CODES, { accountId })
        for (const hash of recoveryHashes) yield* run(INSERT_CODE, { accountId, hash })
        return true
      }),
    useStep: async (accountId, { secret, step }) => (await driver.run(USE_STEP, { accountId, secret, step })) > 0,
    useRecoveryCode: async (accountId, hash) => (await driver.run(USE_CODE, { accountId, hash })) > 0,
    disable: accountId =>
      driver.transaction(function* () {
        const dropped = yield* first(DROP_FACTOR, { accountId })
        yield* run(DROP_CODES, { accountId })
        return dropped !== null && dropped.enabledAt !== null
      }),
    inClear: () => clear.inClear(),
    seal: secrets => clear.seal(secrets),
  }
}
