import { join, resolve } from 'node:path'
import { AccountService } from '../access/account-service.ts'
import { CredentialCache } from '../access/credential-cache.ts'
import { KeyService } from '../access/key-service.ts'
import { ScryptHasher } from '../access/password-hasher.ts'
import { PlanCatalogue } from '../access/plan-catalogue.ts'
import { ScopePolicy } from '../access/scope-policy.ts'
import { SecondFactor } from '../access/second-factor.ts'
import { SessionRegistry } from '../access/session-registry.ts'
import type { AccountsHandle, AccountsOptions } from '../api.ts'
import { sqliteAccess } from '../catalogue/sqlite/access-catalogue.ts'
import { OWNERS_DIRECTORY } from '../disk/file-system.ts'
import { makeDirectory } from '../disk/make-directory.ts'
import { keepToOwner } from '../disk/permissions.ts'
import { systemClock } from '../domain/clock.ts'
import { parseConfig } from '../domain/config.ts'
import { HoldfastError } from '../domain/errors.ts'
import { silentLogger } from '../domain/logger.ts'
import type { Sealing } from '../domain/sealing.ts'
import { openDataKey } from '../storage/data-key.ts'
import { Database } from '../storage/database.ts'
import { WriteQueue } from '../storage/write-queue.ts'

/**
 * Opens the accounts and keys of a data directory, beside a running engine or without one. An engine notices the
 * changes within a second. The caller closes the handle.
 *
 * @throws HoldfastError `CONFIG_INVALID`, `DATA_DIR_UNUSABLE` or `DATA_DIR_NEWER`.
 */
export function openAccounts(options: AccountsOptions): AccountsHandle {
  const clock = options.clock ?? systemClock
  const config = parseConfig(options.config ?? {}, 'config')
  const db = openDatabase(options.dataDir)
  const access = sqliteAccess(db, new WriteQueue(db))
  const plans = new PlanCatalogue(config.plans)
  const cache = new CredentialCache(clock, () => db.dataVersion())
  const scopes = new ScopePolicy()
  const hasher = ScryptHasher.ofCost(config.passwordCost)
  const secondFactor = new SecondFactor({
    store: access.secondFactors,
    sealing: keyOnDemand(db, options.dataDir),
    clock,
  })
  return {
    accounts: new AccountService({ store: access.accounts, hasher, plans, cache, clock }),
    keys: new KeyService({ store: access.keys, accounts: access.accounts, plans, scopes, secondFactor, cache, clock }),
    secondFactor,
    sessions: new SessionRegistry(access.sessions, cache, clock),
    close: () => db.close(),
  }
}

/** Most commands need no key, and work where it is missing. */
function keyOnDemand(db: Database, dataDir: string): Sealing {
  const open = (): Sealing => openDataKey(db, resolve(dataDir))
  return {
    seal: (bytes, context) => open().seal(bytes, context),
    open: (sealed, context) => open().open(sealed, context),
  }
}

function openDatabase(dataDir: string): Database {
  const directory = resolve(dataDir)
  try {
    makeDirectory(directory, OWNERS_DIRECTORY)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new HoldfastError('DATA_DIR_UNUSABLE', `cannot create ${directory}: ${reason}`, { cause })
  }
  const database = new Database(join(directory, 'holdfast.db'))
  keepToOwner(directory, silentLogger)
  return database
}
