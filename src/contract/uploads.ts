import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import { positiveInteger } from './page-query.ts'
import { presentList } from './presenters.ts'
import { present } from './request-target.ts'
import type { Pins } from './services.ts'

/** The list of an account's uploads. */
export class UploadRoutes {
  readonly #pins: Pins

  constructor(pins: Pins) {
    this.#pins = pins
  }

  /** GET /users/me/uploads. */
  list = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const { query, principal } = context
    const page = await this.#pins.list({
      account: principal.account.id,
      page: positiveInteger(query, 'page'),
      limit: positiveInteger(query, 'limit'),
      cid: present(query.get('cid')),
      parentCid: present(query.get('parentCid')),
      hasExpiration: query.get('hasExpiration') === 'true',
    })
    return jsonResponse(200, presentList(page))
  }
}
