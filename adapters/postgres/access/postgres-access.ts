import type { Account } from '../../../src/catalogue/account-store.ts'
import { type AccessStores, accessStores } from '../../../src/catalogue/rules/access-stores.ts'
import { account, LIVE_ACCOUNT } from '../../../src/catalogue/rules/account-rows.ts'
import type { ClearSecrets } from '../../../src/catalogue/rules/second-factor-rules.ts'
import { selectList } from '../../../src/catalogue/rules/statement.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import type { Postgres } from '../database/postgres.ts'
import { PostgresDriver } from '../database/postgres-driver.ts'
import { accountReads } from './account-reads.ts'

/** Always empty: no version of Holdfast has stored an unsealed secret in PostgreSQL. */
const NO_CLEAR_SECRETS: ClearSecrets = {
  inClear: async () => [],
  seal: async secrets => {
    if (secrets.length > 0) throw new HoldfastError('INTERNAL_ERROR', 'PostgreSQL has no unsealed second factor')
  },
}

const GET = `SELECT ${selectList(account).postgres} FROM accounts WHERE id = ANY($1) AND ${LIVE_ACCOUNT}`

/** Returns the stores of accounts. The caller migrates the schema and closes the database. */
export function postgresAccess(database: Postgres, node: string): AccessStores {
  const stores = accessStores(new PostgresDriver(database), NO_CLEAR_SECRETS, node)
  // Every upload reads its account.
  return { ...stores, accounts: { ...stores.accounts, get: accountReads<Account>(database, GET) } }
}
