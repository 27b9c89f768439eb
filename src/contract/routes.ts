import { authRoutes } from './account/auth.ts'
import { planRoutes } from './account/plans.ts'
import { profileRoutes } from './account/profile.ts'
import { secondFactorRoutes } from './account/second-factor-routes.ts'
import { sessionRoutes } from './account/session-routes.ts'
import { tokenRoutes } from './account/tokens.ts'
import { adminAccountRoutes } from './admin/admin-accounts.ts'
import { adminUpkeepRoutes } from './admin/admin-upkeep.ts'
import { adminWatchRoutes } from './admin/admin-watch.ts'
import { auditRoutes } from './admin/audit-routes.ts'
import { nodeRoutes } from './admin/node-routes.ts'
import { takedownRoutes } from './admin/takedown-routes.ts'
import { workRoutes } from './admin/work-routes.ts'
import { clusterRoutes } from './cluster-routes.ts'
import type { ContractRoute, RouteGroup } from './contract-route.ts'
import { docsRoutes } from './docs.ts'
import { frontRoutes } from './front-page.ts'
import { goneRoutes, health, metaRoutes, ready } from './meta.ts'
import { absentRoutes } from './not-offered.ts'
import { psaDocsRoute } from './psa/psa-docs.ts'
import { PSA_PATH, psaRoutes } from './psa/psa-pins.ts'
import { jobRoutes } from './records/job-routes.ts'
import { pinRoutes } from './records/pin-routes.ts'
import { statusRoutes } from './records/status.ts'
import { carRoutes } from './uploads/car.ts'
import { fileRoutes } from './uploads/file-routes.ts'
import { uploadRoutes } from './uploads/uploads.ts'
import { urlRoutes } from './uploads/url-route.ts'
import { webhookRoutes } from './webhook-routes.ts'

export const BASE_PATH = '/api/v3'
/** Administration routes for the owner. They are not part of the API contract. */
export const ADMIN_PATH = '/admin/v1'

/** The first matching route handles a request. The OpenAPI document lists the routes in this order. */
export const contractRoutes: readonly ContractRoute[] = [
  ...fileRoutes,
  ...carRoutes,
  ...urlRoutes,
  ...pinRoutes,
  ...uploadRoutes,
  ...jobRoutes,
  ...clusterRoutes,
  ...statusRoutes,
  ...profileRoutes,
  ...planRoutes,
  ...authRoutes,
  ...secondFactorRoutes,
  ...sessionRoutes,
  ...tokenRoutes,
  ...webhookRoutes,
  ...absentRoutes,
  ...metaRoutes,
  ...docsRoutes(() => contractRoutes),
]

/** All routes of the node except the gateway. */
export const routeGroups: readonly RouteGroup[] = [
  { base: BASE_PATH, routes: contractRoutes },
  {
    base: ADMIN_PATH,
    routes: [
      ...adminUpkeepRoutes,
      ...adminWatchRoutes,
      ...adminAccountRoutes,
      ...takedownRoutes,
      ...workRoutes,
      ...nodeRoutes,
      ...auditRoutes,
    ],
  },
  { base: PSA_PATH, routes: [...psaRoutes, psaDocsRoute] },
  { base: '', routes: [health, ready, ...frontRoutes, ...goneRoutes] },
]
