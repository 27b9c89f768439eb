import type { ConnectedAccounts, ConnectOptions } from '../access/accounts/accounts-handle.ts'
import { catalogueDatabase } from '../catalogue/catalogue-adapter.ts'
import { parseConfig, withDefaults } from '../config/config.ts'
import { systemClock } from '../domain/clock.ts'
import { makeAccounts } from './access-module.ts'
import { connectCatalogue } from './connect-catalogue.ts'
import { accountsIn, keyOnDemand, openMigratedDirectory, shownAccounts } from './open-accounts.ts'

/**
 * Opens the accounts and keys of a data directory wherever its catalogue is, in PostgreSQL too, beside running engines or
 * without one. Engines notice the changes within a second. The caller closes the handle.
 *
 * A directory of an older version is migrated, unless an engine of that version runs on it.
 *
 * @throws HoldfastError `CONFIG_INVALID` if its catalogue is in the other place, or in another database, or if `catalogue`
 * is missing for one in PostgreSQL; `UNAVAILABLE`,
 * `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`, `DATA_DIR_NEWER`
 */
export async function connectAccounts(options: ConnectOptions): Promise<ConnectedAccounts> {
  const { dataDir, clock = systemClock, adapters } = options
  const config = withDefaults(parseConfig(options.config ?? {}, 'config', adapters))
  const database = catalogueDatabase(config.database, options.catalogue)
  const directory = await openMigratedDirectory(dataDir)
  if (database === null) {
    const handle = accountsIn(directory, { dataDir, config, clock })
    return { ...handle, close: async () => handle.close() }
  }
  try {
    const { catalogue, node } = await connectCatalogue(directory, database)
    const sealing = keyOnDemand(directory, dataDir)
    // Nothing is remembered: others may change it at any time.
    let asked = 0
    const made = makeAccounts(
      { config, clock },
      {
        credentialsVersion: () => asked++,
        catalogue: catalogue.access(node),
        sealing,
        signIn: catalogue.signIn(sealing),
      },
    )
    const close = async (): Promise<void> => {
      directory.close()
      await catalogue.close()
    }
    return { ...shownAccounts(made), close }
  } catch (error) {
    directory.close()
    throw error
  }
}
