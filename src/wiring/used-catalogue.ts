import type { CatalogueDatabase } from '../catalogue/catalogue-adapter.ts'
import { HoldfastError } from '../domain/errors.ts'
import { catalogueNode } from '../ledger/catalogue-node.ts'
import type { Database } from '../storage/database.ts'

export const FLEET_SECRET = 'fleet secret'

/**
 * Checks that the configuration and the data directory name the same catalogue.
 * @throws HoldfastError `CONFIG_INVALID`
 */
export function checkCatalogue(database: Database, configured: CatalogueDatabase | null): void {
  const known = catalogueNode(database)
  if (configured === null && known !== null) {
    throw new HoldfastError(
      'CONFIG_INVALID',
      'database: the catalogue of this data directory is in PostgreSQL: set its URL',
    )
  }
  const hasAccounts = (): boolean => database.prepare('SELECT 1 FROM accounts LIMIT 1').get() !== undefined
  if (configured !== null && known === null && hasAccounts()) {
    throw new HoldfastError(
      'CONFIG_INVALID',
      'database: the data directory has accounts of its own: move them with "holdfast catalogue move", or use an empty directory',
    )
  }
}
