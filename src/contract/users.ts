import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import { presentUser } from './presenters.ts'
import type { Clusters, Pins } from './services.ts'

/** The account behind a credential. */
export class UserRoutes {
  readonly #pins: Pins
  readonly #clusters: Clusters

  constructor(pins: Pins, clusters: Clusters) {
    this.#pins = pins
    this.#clusters = clusters
  }

  /** GET /users/me: any valid credential will do, so that clients can ask whether theirs is one. */
  show = ({ principal }: AuthenticatedContext): ApiResponse => {
    const clusters = this.#clusters.allowed(principal.plan).length
    return jsonResponse(200, presentUser(principal, clusters, this.#pins.usage(principal.account.id)))
  }
}
