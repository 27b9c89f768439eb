import type { Database } from '../../storage/database.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import { type AccessStores, accessStores } from '../rules/access-stores.ts'
import { SqliteClearSecrets } from './clear-secrets.ts'
import { SqliteDriver, SqliteStatements } from './sqlite-driver.ts'

/** SQLite has one node, which leases nothing. */
const NODE = ''

/** The part of the catalogue that access needs. Database and queue are the caller's. */
export function sqliteAccess(db: Database, writes: WriteQueue): AccessStores {
  return accessStores(new SqliteDriver(new SqliteStatements(db), writes), new SqliteClearSecrets(db, writes), NODE)
}
