import { join, resolve } from 'node:path'
import type { AccountsHandle, AccountsOptions } from '../access/accounts-handle.ts'
import { sqliteAccess } from '../catalogue/sqlite/access-catalogue.ts'
import { DATABASE } from '../disk/file-names.ts'
import { OWNERS_DIRECTORY } from '../disk/file-system.ts'
import { makeDirectory } from '../disk/make-directory.ts'
import { keepToOwner } from '../disk/permissions.ts'
import { systemClock } from '../domain/clock.ts'
import { parseConfig, withDefaults } from '../domain/config.ts'
import { HoldfastError } from '../domain/errors.ts'
import { silentLogger } from '../domain/logger.ts'
import type { Sealing } from '../domain/sealing.ts'
import { openDataKey } from '../storage/data-key.ts'
import { Database } from '../storage/database.ts'
import { WriteQueue } from '../storage/write-queue.ts'
import { makeAccounts } from './access.ts'
import { catalogueNode } from './shared-catalogue.ts'

/**
 * Opens the accounts and keys of a data directory, beside a running engine or without one. An engine notices the
 * changes within a second. The caller closes the handle.
 *
 * @throws HoldfastError `CONFIG_INVALID`, also if they are kept in PostgreSQL: see `connectAccounts`; `DATA_DIR_UNUSABLE`,
 * `DATA_DIR_NEWER`
 */
export function openAccounts({ dataDir, config = {}, clock = systemClock }: AccountsOptions): AccountsHandle {
  const setup = { config: withDefaults(parseConfig(config, 'config')), clock }
  const database = openDirectory(dataDir)
  if (setup.config.database !== undefined || catalogueNode(database) !== null) {
    database.close()
    throw new HoldfastError(
      'CONFIG_INVALID',
      'database: accounts that are kept in PostgreSQL are opened by connectAccounts',
    )
  }
  const catalogue = sqliteAccess(database, new WriteQueue(database))
  const sealing = keyOnDemand(database, dataDir)
  const { accounts, keys, secondFactor, sessionRegistry } = makeAccounts(setup, {
    credentialsVersion: () => database.dataVersion(),
    catalogue,
    sealing,
    signIn: null,
  })
  return { accounts, keys, secondFactor, sessions: sessionRegistry, close: () => database.close() }
}

/** Most commands need no key, and work where it is missing. */
export function keyOnDemand(db: Database, dataDir: string): Sealing {
  const open = (): Sealing => openDataKey(db, resolve(dataDir))
  return {
    seal: (bytes, context) => open().seal(bytes, context),
    open: (sealed, context) => open().open(sealed, context),
  }
}

/** The database of a data directory, which is made if it is missing. */
export function openDirectory(dataDir: string): Database {
  const directory = resolve(dataDir)
  try {
    makeDirectory(directory, OWNERS_DIRECTORY)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new HoldfastError('DATA_DIR_UNUSABLE', `cannot create ${directory}: ${reason}`, { cause })
  }
  const database = new Database(join(directory, DATABASE))
  keepToOwner(directory, silentLogger)
  return database
}
