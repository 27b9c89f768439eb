import { HoldfastError } from '../domain/errors.ts'

/**
 * A database system that stores catalogues, such as `postgres` of `holdfast/postgres`. Programs only pass an adapter on
 * to the engine; the modules that it loads are internal to this package.
 */
export interface CatalogueAdapter {
  load(): Promise<object>
}

/** The database outside a data directory that stores its catalogue. */
export interface CatalogueDatabase {
  url: string
  adapter: CatalogueAdapter
}

/**
 * Returns the configured catalogue database with its adapter; null if none is configured. @throws as {@link
 * neededAdapter}
 */
export function catalogueDatabase(
  url: string | undefined,
  adapter: CatalogueAdapter | undefined,
): CatalogueDatabase | null {
  return url === undefined ? null : { url, adapter: neededAdapter(adapter) }
}

/**
 * Returns the adapter that a configuration with `database` requires.
 *
 * @throws HoldfastError `CONFIG_INVALID`, naming the import, if the program passed no adapter
 */
export function neededAdapter(adapter: CatalogueAdapter | undefined): CatalogueAdapter {
  if (typeof adapter?.load === 'function') return adapter
  throw new HoldfastError(
    'CONFIG_INVALID',
    "database needs an adapter: import { postgres } from 'holdfast/postgres' and pass it as catalogue",
  )
}
