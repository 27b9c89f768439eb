import type { CatalogueDatabase } from '../catalogue/catalogue-adapter.ts'
import { type ConnectedCatalogue, loadSystem } from '../catalogue/catalogue-system.ts'
import { HoldfastError } from '../domain/errors.ts'
import { catalogueNode } from '../ledger/catalogue-node.ts'
import type { Database } from '../storage/database.ts'

/** @throws HoldfastError `CONFIG_INVALID` if the catalogue and the directory do not belong together */
export async function connectCatalogue(
  directory: Database,
  { url, adapter }: CatalogueDatabase,
): Promise<{ catalogue: ConnectedCatalogue; node: string }> {
  const node = catalogueNode(directory)
  if (node === null) {
    throw new HoldfastError('CONFIG_INVALID', 'database: this data directory has not joined a PostgreSQL catalogue yet')
  }
  const system = await loadSystem(adapter)
  const catalogue = await system.connect(url)
  try {
    if (await catalogue.isKnownTo(node)) return { catalogue, node }
    throw new HoldfastError('CONFIG_INVALID', 'database: this PostgreSQL catalogue does not know the data directory')
  } catch (error) {
    await catalogue.close()
    throw error
  }
}
