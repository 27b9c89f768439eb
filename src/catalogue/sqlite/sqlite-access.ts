import type { Database } from '../../storage/database.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import { type AccessStores, accessStores } from '../rules/access-stores.ts'
import { SqliteClearSecrets } from './clear-secrets.ts'
import { SqliteDriver, SqliteStatements } from './sqlite-driver.ts'

/** A SQLite catalogue has only one node, so jobs need no leases. */
const NODE = ''

/** Creates the stores for accounts and credentials. The caller owns the database and the queue. */
export function sqliteAccess(db: Database, writes: WriteQueue): AccessStores {
  return accessStores(new SqliteDriver(new SqliteStatements(db), writes), new SqliteClearSecrets(db, writes), NODE)
}
