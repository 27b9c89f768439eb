import { authRoutes } from './account/auth.ts'
import { planRoutes } from './account/plans.ts'
import { profileRoutes } from './account/profile.ts'
import { secondFactorRoutes } from './account/second-factor-routes.ts'
import { sessionRoutes } from './account/session-routes.ts'
import { tokenRoutes } from './account/tokens.ts'
import { adminAccountRoutes } from './admin/admin-accounts.ts'
import { adminUpkeepRoutes } from './admin/admin-upkeep.ts'
import { adminWatchRoutes } from './admin/admin-watch.ts'
import { nodeRoutes } from './admin/node-routes.ts'
import { takedownRoutes } from './admin/takedown-routes.ts'
import { workRoutes } from './admin/work-routes.ts'
import { clusterRoutes } from './cluster-routes.ts'
import type { ContractRoute, RouteGroup } from './contract-route.ts'
import { docsRoutes } from './docs.ts'
import { frontRoutes } from './front-page.ts'
import { goneRoutes, health, metaRoutes, ready } from './meta.ts'
import { absentRoutes } from './not-offered.ts'
import { pinRoutes } from './records/pin-routes.ts'
import { statusRoutes } from './records/status.ts'
import { carRoutes } from './uploads/car.ts'
import { fileRoutes } from './uploads/file-routes.ts'
import { uploadRoutes } from './uploads/uploads.ts'

export const BASE_PATH = '/api/v3'
/** Administration routes for the owner. They are not part of the API contract. */
export const ADMIN_PATH = '/admin/v1'

/** Routes that a feature adds to the group with the same base, or a group of its own. */
export interface AddedRoutes<Route = ContractRoute> {
  readonly base: string
  /** Path of the route before which the added ones stand in the descriptions. Null for the end of the group. */
  readonly before: string | null
  readonly routes: readonly Route[]
}

export interface RouteTable {
  /** The routes of the contract, in the order of the OpenAPI document. */
  readonly contract: readonly ContractRoute[]
  /** All routes of the node except the gateway. The first matching route handles a request. */
  readonly groups: readonly RouteGroup[]
}

/** Returns all routes, with those that features add. */
export function routeTable(added: readonly AddedRoutes[]): RouteTable {
  const contract: readonly ContractRoute[] = withAdded(BASE_PATH, [
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
    ...absentRoutes,
    ...metaRoutes,
    ...docsRoutes(() => contract),
  ])
  const admin = [
    ...adminUpkeepRoutes,
    ...adminWatchRoutes,
    ...adminAccountRoutes,
    ...takedownRoutes,
    ...workRoutes,
    ...nodeRoutes,
  ]
  const ownGroups = added.filter(({ base }) => base !== BASE_PATH && base !== ADMIN_PATH)
  return {
    contract,
    groups: [
      { base: BASE_PATH, routes: contract },
      { base: ADMIN_PATH, routes: withAdded(ADMIN_PATH, admin) },
      ...ownGroups,
      { base: '', routes: [health, ready, ...frontRoutes, ...goneRoutes] },
    ],
  }

  function withAdded(group: string, own: readonly ContractRoute[]): readonly ContractRoute[] {
    const all = [...own]
    for (const { base, before, routes } of added) {
      if (base !== group) continue
      const at = before === null ? -1 : all.findIndex(({ path }) => path === before)
      all.splice(at === -1 ? all.length : at, 0, ...routes)
    }
    return all
  }
}
