import { join, resolve } from 'node:path'
import type { Accounts } from '../access/accounts/accounts.ts'
import type { AccountsHandle, AccountsOptions } from '../access/accounts/accounts-handle.ts'
import { sqliteAccess } from '../catalogue/sqlite/sqlite-access.ts'
import { type CompleteConfig, parseConfig, withDefaults } from '../config/config.ts'
import { checkingCalls } from '../config/given-calls.ts'
import * as given from '../config/option-names.ts'
import { ownDataDirectory, refuseContentWithoutDatabase, refuseUnfinishedRestore } from '../disk/data-directory.ts'
import { DATABASE } from '../disk/file-names.ts'
import { makeDirectory } from '../disk/make-directory.ts'
import { OWNERS_DIRECTORY } from '../disk/node-file-system.ts'
import { keepToOwner } from '../disk/permissions.ts'
import { type Clock, systemClock } from '../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { checkFields } from '../domain/known-fields.ts'
import { silentLogger } from '../domain/logger.ts'
import type { Sealing } from '../domain/sealing.ts'
import { catalogueNode } from '../ledger/catalogue-node.ts'
import { openDataKey } from '../storage/data-key.ts'
import { Database } from '../storage/database.ts'
import { WriteQueue } from '../storage/write-queue.ts'
import { makeAccounts } from './access-module.ts'

/**
 * Opens the accounts and keys of a data directory whose catalogue is in SQLite. A running engine notices changes within
 * a second. The caller closes the handle. A directory from an older version needs an engine or `connectAccounts` to
 * migrate it.
 * @throws HoldfastError `CONFIG_INVALID`, also if the catalogue is in PostgreSQL; `DATA_DIR_IN_USE` for a directory
 * from an older version; `DATA_DIR_UNUSABLE`, `DATA_DIR_NEWER`; `VALIDATION` for an unknown option
 * @example const handle = openAccounts({ dataDir: '/data' })
 */
export function openAccounts(options: AccountsOptions): AccountsHandle {
  checkFields(options, given.ACCOUNTS, 'openAccounts')
  const { dataDir, config = {}, clock = systemClock, adapters } = options
  const complete = withDefaults(parseConfig(config, 'config', adapters))
  return accountsIn(openDirectory(dataDir), { dataDir, config: complete, clock })
}

/** Closes the database when the returned handle is closed. */
export function accountsIn(
  database: Database,
  { dataDir, ...setup }: { dataDir: string; config: CompleteConfig; clock: Clock },
): AccountsHandle {
  if (setup.config.database !== undefined || catalogueNode(database) !== null) {
    database.close()
    throw new HoldfastError('CONFIG_INVALID', 'database: the accounts are in PostgreSQL: use connectAccounts')
  }
  const catalogue = sqliteAccess(database, new WriteQueue(database))
  const sealing = keyOnDemand(database, dataDir)
  const made = makeAccounts(setup, {
    credentialsVersion: () => database.dataVersion(),
    catalogue,
    sealing,
    signIn: null,
  })
  return { ...shownAccounts(made), close: () => database.close() }
}

export function shownAccounts({
  accounts,
  keys,
  secondFactor,
  sessionRegistry,
}: Omit<AccountsHandle, 'close' | 'sessions'> & { sessionRegistry: AccountsHandle['sessions'] }): Omit<
  AccountsHandle,
  'close'
> {
  return {
    accounts: checkingCalls<Accounts>(accounts, given.ACCOUNT_CALLS),
    keys: checkingCalls(keys, given.KEY_CALLS),
    secondFactor: checkingCalls(secondFactor, given.SECOND_FACTOR_CALLS),
    sessions: checkingCalls(sessionRegistry, given.SESSION_CALLS),
  }
}

/** Returns a sealing that reads the data key when something first needs it, because most commands work without it. */
export function keyOnDemand(db: Database, dataDir: string): Sealing {
  const open = (): Sealing => openDataKey(db, resolve(dataDir))
  return {
    seal: (bytes, context) => open().seal(bytes, context),
    open: (sealed, context) => open().open(sealed, context),
  }
}

/**
 * Creates the database if it is missing.
 * @throws HoldfastError `DATA_DIR_IN_USE` if the schema is older, because only the owner of a directory may migrate it
 */
function openDirectory(dataDir: string): Database {
  const directory = resolve(dataDir)
  try {
    makeDirectory(directory, OWNERS_DIRECTORY)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new HoldfastError('DATA_DIR_UNUSABLE', `cannot create ${directory}: ${reason}`, { cause })
  }
  refuseUnfinishedRestore(directory)
  refuseContentWithoutDatabase(directory)
  const database = new Database(join(directory, DATABASE), { isOwned: false })
  keepToOwner(directory, silentLogger)
  return database
}

/** Migrates an older schema. @throws HoldfastError `DATA_DIR_IN_USE` while an engine of the older version runs */
export async function openMigratedDirectory(dataDir: string): Promise<Database> {
  try {
    return openDirectory(dataDir)
  } catch (refusal) {
    if (!isHoldfastError(refusal, 'DATA_DIR_IN_USE')) throw refusal
    const owned = await ownDataDirectory(resolve(dataDir), silentLogger).catch((error: unknown) => {
      throw isHoldfastError(error, 'DATA_DIR_IN_USE') ? refusal : error
    })
    try {
      new Database(join(resolve(dataDir), DATABASE)).close()
    } finally {
      await owned.close()
    }
    return openDirectory(dataDir)
  }
}
