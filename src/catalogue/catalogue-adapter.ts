import { HoldfastError } from '../domain/errors.ts'

/**
 * A database system that stores catalogues, such as `postgres` of `holdfast/postgres`. The modules that the adapter
 * loads are internal.
 */
export interface CatalogueAdapter {
  load(): Promise<object>
}

export interface CatalogueDatabase {
  url: string
  adapter: CatalogueAdapter
}

/** @throws HoldfastError `CONFIG_INVALID` if a database is configured and the program passed no adapter */
export function catalogueDatabase(
  url: string | undefined,
  adapter: CatalogueAdapter | undefined,
): CatalogueDatabase | null {
  return url === undefined ? null : { url, adapter: neededAdapter(adapter) }
}

/** @throws HoldfastError `CONFIG_INVALID` if the program passed no adapter */
export function neededAdapter(adapter: CatalogueAdapter | undefined): CatalogueAdapter {
  if (typeof adapter?.load === 'function') return adapter
  throw new HoldfastError(
    'CONFIG_INVALID',
    "database needs an adapter: import { postgres } from 'holdfast/postgres' and pass it as catalogue",
  )
}
