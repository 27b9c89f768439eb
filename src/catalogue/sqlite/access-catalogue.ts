import type { Database } from '../../storage/database.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { Catalogue } from '../catalogue.ts'
import { SqliteAccounts } from './account-store.ts'
import { SqliteKeys } from './key-store.ts'
import { SqliteSecondFactors } from './second-factor-store.ts'
import { SqliteSessions } from './session-store.ts'
import { SqliteWebhooks } from './webhook-store.ts'

/** The part of the catalogue that access needs. Database and queue are the caller's. */
export function sqliteAccess(
  db: Database,
  writes: WriteQueue,
): Pick<Catalogue, 'keys' | 'sessions' | 'secondFactors' | 'webhooks'> & { accounts: SqliteAccounts } {
  const accounts = new SqliteAccounts(db, writes)
  return {
    accounts,
    keys: new SqliteKeys(db, writes),
    sessions: new SqliteSessions(db, writes, accounts),
    secondFactors: new SqliteSecondFactors(db, writes),
    webhooks: new SqliteWebhooks(db, writes),
  }
}
