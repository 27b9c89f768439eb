import { isKnownTo } from '../catalogue/postgres/move-in.ts'
import type { Postgres } from '../catalogue/postgres/postgres.ts'
import { openMigrated } from '../catalogue/postgres/shared-database.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Database } from '../storage/database.ts'
import { catalogueNode } from './shared-catalogue.ts'

/** The database that has the catalogue of a data directory, and as what it knows that. */
export async function connectCatalogue(
  directory: Database,
  url: string,
): Promise<{ postgres: Postgres; node: string }> {
  const node = catalogueNode(directory)
  if (node === null) {
    throw new HoldfastError('CONFIG_INVALID', 'database: the catalogue of this data directory is not there yet')
  }
  const postgres = await openMigrated({ url }, false)
  try {
    if (await isKnownTo(postgres, node)) return { postgres, node }
    throw new HoldfastError('CONFIG_INVALID', 'database: it is not the catalogue of this data directory')
  } catch (error) {
    await postgres.close()
    throw error
  }
}
