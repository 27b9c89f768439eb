import type { CatalogueDatabase } from '../catalogue/catalogue-adapter.ts'
import { type ConnectedCatalogue, loadSystem } from '../catalogue/catalogue-system.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Database } from '../storage/database.ts'
import { catalogueNode } from './open-shared-catalogue.ts'

/** Connects to the catalogue of a data directory outside it. Returns it with the directory's name there. */
export async function connectCatalogue(
  directory: Database,
  { url, adapter }: CatalogueDatabase,
): Promise<{ catalogue: ConnectedCatalogue; node: string }> {
  const node = catalogueNode(directory)
  if (node === null) {
    throw new HoldfastError('CONFIG_INVALID', 'database: the catalogue of this data directory is not there yet')
  }
  const system = await loadSystem(adapter)
  const catalogue = await system.connect(url)
  try {
    if (await catalogue.isKnownTo(node)) return { catalogue, node }
    throw new HoldfastError('CONFIG_INVALID', 'database: it is not the catalogue of this data directory')
  } catch (error) {
    await catalogue.close()
    throw error
  }
}
