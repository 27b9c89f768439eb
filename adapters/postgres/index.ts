import type { CatalogueAdapter } from '../../src/catalogue/catalogue-adapter.ts'

/**
 * The adapter that stores the catalogue in PostgreSQL. Pass it to an engine: `createEngine({ database, catalogue:
 * postgres })`.
 */
export const postgres: CatalogueAdapter = {
  load: async () => (await import('./postgres-system.ts')).postgresSystem,
}
