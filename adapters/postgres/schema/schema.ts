import type { Migration } from './migrate.ts'
import { changes040Schema } from './schema-0-4-0.ts'
import { accessSchema } from './schema-access.ts'
import { auditLogSchema } from './schema-audit-log.ts'
import { bulkChangesSchema } from './schema-bulk.ts'
import { contentSchema, placementsSeenSchema } from './schema-content.ts'
import { deliveryFailuresSchema, webhooksSchema } from './schema-deliveries.ts'
import { leasedJobsSchema } from './schema-leased-jobs.ts'
import { movesSchema } from './schema-moves.ts'
import { leavingSchema, nodeStatesSchema, nodesSchema, retiringSchema, runsSchema } from './schema-nodes.ts'
import { pagesSchema, statesSchema } from './schema-pages.ts'
import { setBacksSchema } from './schema-set-backs.ts'
import { identitiesSchema, passwordLinksSchema, signInSchema } from './schema-sign-in.ts'
import { takedownsSchema } from './schema-takedowns.ts'
import { trafficSchema } from './schema-traffic.ts'
import { versionsSchema } from './schema-versions.ts'
import { applyVisibility } from './schema-visibility.ts'

/** Migrations, one for each version, in order. Never edit the SQL of a released migration: add another one. */
export const migrations: readonly Migration[] = [
  { sql: accessSchema, isTolerated: false },
  { sql: contentSchema, isTolerated: false },
  { sql: webhooksSchema, isTolerated: false },
  { sql: signInSchema, isTolerated: false },
  { sql: placementsSeenSchema, isTolerated: true },
  { sql: movesSchema, isTolerated: false },
  { sql: nodesSchema, isTolerated: false },
  { sql: pagesSchema, isTolerated: true },
  { sql: takedownsSchema, isTolerated: true },
  { sql: leavingSchema, isTolerated: true },
  { sql: statesSchema, isTolerated: true },
  { sql: runsSchema, isTolerated: true },
  { sql: leasedJobsSchema, isTolerated: false },
  { sql: bulkChangesSchema, isTolerated: false },
  { sql: trafficSchema, isTolerated: true },
  { sql: passwordLinksSchema, isTolerated: true },
  { sql: identitiesSchema, isTolerated: true },
  { sql: auditLogSchema, isTolerated: true },
  { sql: deliveryFailuresSchema, isTolerated: true },
  { sql: versionsSchema, isTolerated: true },
  { sql: nodeStatesSchema, isTolerated: false },
  { sql: setBacksSchema, isTolerated: false },
  { sql: retiringSchema, isTolerated: true },
  { sql: changes040Schema, isTolerated: true, whenNew: applyVisibility },
]
