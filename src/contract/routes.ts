import { adminAccountRoutes } from './admin-accounts.ts'
import { adminUpkeepRoutes } from './admin-upkeep.ts'
import { adminWatchRoutes } from './admin-watch.ts'
import { authRoutes } from './auth.ts'
import { carRoutes } from './car.ts'
import { clusterRoutes } from './clusters.ts'
import { docsRoutes } from './docs.ts'
import { fileRoutes } from './files.ts'
import { frontRoutes } from './front-page.ts'
import { goneRoutes, health, metaRoutes, ready } from './meta.ts'
import { absentRoutes } from './not-offered.ts'
import { pinRoutes } from './pins.ts'
import { planRoutes } from './plans.ts'
import { profileRoutes } from './profile.ts'
import { psaDocsRoute } from './psa/docs.ts'
import { PSA_PATH, psaRoutes } from './psa/pins.ts'
import type { ContractRoute, RouteGroup } from './route.ts'
import { secondFactorRoutes } from './second-factor.ts'
import { sessionRoutes } from './sessions.ts'
import { statusRoutes } from './status.ts'
import { takedownRoutes } from './takedowns.ts'
import { tokenRoutes } from './tokens.ts'
import { uploadRoutes } from './uploads.ts'
import { webhookRoutes } from './webhooks.ts'

/** Where the contract's version 3 lives. */
export const BASE_PATH = '/api/v3'
/** Where the owner of a node administers it: beside the contract, and no part of it. */
export const ADMIN_PATH = '/admin/v1'

/** The contract. The first route that matches a request answers it; the description has them in this order. */
export const contractRoutes: readonly ContractRoute[] = [
  ...fileRoutes,
  ...carRoutes,
  ...pinRoutes,
  ...uploadRoutes,
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

/** Everything that is served beside the gateway. */
export const routeGroups: readonly RouteGroup[] = [
  { base: BASE_PATH, routes: contractRoutes },
  { base: ADMIN_PATH, routes: [...adminUpkeepRoutes, ...adminWatchRoutes, ...adminAccountRoutes, ...takedownRoutes] },
  { base: PSA_PATH, routes: [...psaRoutes, psaDocsRoute] },
  { base: '', routes: [health, ready, ...frontRoutes, ...goneRoutes] },
]
