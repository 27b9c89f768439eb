import { HoldfastError } from '../domain/errors.ts'

/**
 * A database system that keeps catalogues: `postgres` of `holdfast/postgres`. What it loads is internal to this package and
 * no part of its API: programs pass the adapter on, and neither call nor write one.
 */
export interface CatalogueAdapter {
  /** Loads the modules of the system. */
  load(): Promise<object>
}

/** The database outside a data directory that keeps its catalogue. */
export interface CatalogueDatabase {
  url: string
  adapter: CatalogueAdapter
}

/** Returns the database that a configuration names, with its adapter; null if it names none. @throws as {@link neededAdapter} */
export function catalogueDatabase(
  url: string | undefined,
  adapter: CatalogueAdapter | undefined,
): CatalogueDatabase | null {
  return url === undefined ? null : { url, adapter: neededAdapter(adapter) }
}

/**
 * Returns the adapter that a configuration with `database` needs.
 *
 * @throws HoldfastError `CONFIG_INVALID` naming the import, if the program has passed none
 */
export function neededAdapter(adapter: CatalogueAdapter | undefined): CatalogueAdapter {
  if (typeof adapter?.load === 'function') return adapter
  throw new HoldfastError(
    'CONFIG_INVALID',
    "database: it needs its adapter: import { postgres } from 'holdfast/postgres' and pass it as catalogue",
  )
}
