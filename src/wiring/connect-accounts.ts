import type { AccountsOptions, ConnectedAccounts } from '../access/accounts/accounts-handle.ts'
import { postgresAccess } from '../catalogue/postgres/access-catalogue.ts'
import { postgresSignIn } from '../catalogue/postgres/sign-in.ts'
import { parseConfig, withDefaults } from '../config/config.ts'
import { systemClock } from '../domain/clock.ts'
import { makeAccounts } from './access.ts'
import { connectCatalogue } from './connect-catalogue.ts'
import { accountsIn, keyOnDemand, openMigratedDirectory, shownAccounts } from './open-accounts.ts'

/**
 * Opens the accounts and keys of a data directory wherever its catalogue is, in PostgreSQL too, beside running engines or
 * without one. Engines notice the changes within a second. The caller closes the handle.
 *
 * A directory of an older version is migrated, unless an engine of that version runs on it.
 *
 * @throws HoldfastError `CONFIG_INVALID` if its catalogue is in the other place, or in another database; `UNAVAILABLE`,
 * `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`, `DATA_DIR_NEWER`
 */
export async function connectAccounts(options: AccountsOptions): Promise<ConnectedAccounts> {
  const { dataDir, clock = systemClock, adapters } = options
  const config = withDefaults(parseConfig(options.config ?? {}, 'config', adapters))
  const directory = await openMigratedDirectory(dataDir)
  if (config.database === undefined) {
    const handle = accountsIn(directory, { dataDir, config, clock })
    return { ...handle, close: async () => handle.close() }
  }
  try {
    const { postgres, node } = await connectCatalogue(directory, config.database)
    const sealing = keyOnDemand(directory, dataDir)
    // Nothing is remembered: others may change it at any time.
    let asked = 0
    const made = makeAccounts(
      { config, clock },
      {
        credentialsVersion: () => asked++,
        catalogue: postgresAccess(postgres, node),
        sealing,
        signIn: postgresSignIn(postgres, sealing),
      },
    )
    const close = async (): Promise<void> => {
      directory.close()
      await postgres.close()
    }
    return { ...shownAccounts(made), close }
  } catch (error) {
    directory.close()
    throw error
  }
}
