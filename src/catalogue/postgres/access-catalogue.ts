import type { Catalogue } from '../catalogue.ts'
import { PostgresAccounts } from './accounts.ts'
import { PostgresKeys } from './keys.ts'
import type { Postgres } from './postgres.ts'
import { PostgresSecondFactors } from './second-factors.ts'
import { PostgresSessions } from './sessions.ts'
import { PostgresWebhooks } from './webhooks.ts'

/** The part of the catalogue that access needs. The database is the caller's, and migrated. @param node whose process this is */
export function postgresAccess(
  database: Postgres,
  node: string,
): Pick<Catalogue, 'accounts' | 'keys' | 'sessions' | 'secondFactors' | 'webhooks'> {
  return {
    accounts: new PostgresAccounts(database),
    keys: new PostgresKeys(database),
    sessions: new PostgresSessions(database),
    secondFactors: new PostgresSecondFactors(database),
    webhooks: new PostgresWebhooks(database, node),
  }
}
