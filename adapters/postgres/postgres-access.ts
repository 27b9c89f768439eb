import { type AccessStores, accessStores } from '../../src/catalogue/rules/access-stores.ts'
import type { ClearSecrets } from '../../src/catalogue/rules/second-factor-rules.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { Postgres } from './postgres.ts'
import { PostgresDriver } from './postgres-driver.ts'

/** Always empty: no version of Holdfast has stored an unsealed secret in PostgreSQL. */
const NO_CLEAR_SECRETS: ClearSecrets = {
  inClear: async () => [],
  seal: async secrets => {
    if (secrets.length > 0) throw new HoldfastError('INTERNAL_ERROR', 'PostgreSQL has no unsealed second factor')
  },
}

/** Returns the stores of accounts. The caller migrates the schema and closes the database. */
export function postgresAccess(database: Postgres, node: string): AccessStores {
  return accessStores(new PostgresDriver(database), NO_CLEAR_SECRETS, node)
}
