import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import { presentCluster } from './presenters.ts'
import type { Clusters } from './services.ts'

/** The clusters that an account may use. */
export class ClusterRoutes {
  readonly #clusters: Clusters

  constructor(clusters: Clusters) {
    this.#clusters = clusters
  }

  /** GET /users/me/clusters: an array at the top level. */
  list = (context: AuthenticatedContext): ApiResponse =>
    jsonResponse(200, this.#clusters.allowed(context.principal.plan).map(presentCluster))
}
