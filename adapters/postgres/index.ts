import type { CatalogueAdapter } from '../../src/catalogue/catalogue-adapter.ts'

/**
 * Stores the catalogue in PostgreSQL: `createEngine({ database, catalogue: postgres })`.
 *
 * @example const engine = await createEngine({ dataDir: '/data', database, catalogue: postgres })
 */
export const postgres: CatalogueAdapter = {
  load: async () => (await import('./postgres-system.ts')).postgresSystem,
}
