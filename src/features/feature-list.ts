import { coreTables } from '../catalogue/core-tables.ts'
import type { CatalogueTable } from '../catalogue/tables.ts'
import { audit } from './audit/declaration.ts' // feature: audit
import type { Feature } from './feature.ts'
import { loaded } from './feature.ts'
import { webhooks } from './webhooks/declaration.ts' // feature: webhooks

/** All features, each with the loader of its module. */
export const features: readonly Feature[] = [
  // feature: audit
  { ...audit, load: async () => loaded((await import('./audit/audit-module.ts')).auditModule) },
  // feature: bulk
  {
    name: 'bulk',
    changesMany: true,
    load: async () => loaded((await import('./bulk/bulk-module.ts')).bulkModule),
  },
  // feature: psa
  { name: 'psa', load: async () => loaded((await import('./psa/psa-module.ts')).psaModule) },
  // feature: url-uploads
  {
    name: 'url-uploads',
    load: async () => loaded((await import('./url-uploads/url-uploads-module.ts')).urlUploadsModule),
  },
  // feature: webhooks
  { ...webhooks, load: async () => loaded((await import('./webhooks/webhooks-module.ts')).webhooksModule) },
  // end
]

/** The tables of all features. */
export const featureTables: readonly CatalogueTable[] = features.flatMap(({ tables = [] }) => tables)

/** All tables of both databases. Those of the core are copied first, so that copied records give a feature no work. */
export const allTables: readonly CatalogueTable[] = [...coreTables, ...featureTables]
