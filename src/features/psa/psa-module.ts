import type { FeatureModule } from '../feature.ts'
import { psaDocsRoute } from './psa-docs.ts'
import { psaError } from './psa-errors.ts'
import { PSA_PATH, psaRoutes } from './psa-pins.ts'

/** The IPFS Pinning Service API, whose errors have a format of their own. */
export const psaModule: FeatureModule<object> = {
  routes: [{ base: PSA_PATH, before: null, routes: [...psaRoutes, psaDocsRoute] }],
  make: () => ({ services: {}, errorAt: psaError }),
}
