import type { ConnectedAccounts, ConnectOptions } from '../access/accounts/accounts-handle.ts'
import { catalogueDatabase } from '../catalogue/catalogue-adapter.ts'
import { parseConfig, withDefaults } from '../config/config.ts'
import { CONNECT } from '../config/option-names.ts'
import { systemClock } from '../domain/clock.ts'
import { checkFields } from '../domain/known-fields.ts'
import { makeAccounts } from './access-module.ts'
import { connectCatalogue } from './connect-catalogue.ts'
import { accountsIn, keyOnDemand, openMigratedDirectory, shownAccounts } from './open-accounts.ts'

export async function connectedAccounts(options: ConnectOptions): Promise<ConnectedAccounts> {
  checkFields(options, CONNECT, 'connectAccounts')
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
    // A new version for each read disables the cache, because other processes may change credentials at any time.
    let reads = 0
    const made = makeAccounts(
      { config, clock },
      {
        credentialsVersion: () => reads++,
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
