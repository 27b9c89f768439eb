import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import { presentAllocations, presentDag, presentStatus } from './presenters.ts'
import { RequestTarget } from './request-target.ts'
import { readRenameBody } from './schemas.ts'
import type { Pins } from './services.ts'

/** How far pins are and what is in them, and their names. */
export class StatusRoutes {
  readonly #pins: Pins

  constructor(pins: Pins) {
    this.#pins = pins
  }

  /** GET /status/:cid. */
  status = async (context: AuthenticatedContext): Promise<ApiResponse> =>
    jsonResponse(200, presentStatus(await this.#progress(context)))

  /** GET /status/allocations/:cid and GET /allocations/:cid. */
  allocations = async (context: AuthenticatedContext): Promise<ApiResponse> =>
    jsonResponse(200, presentAllocations(await this.#progress(context)))

  /** GET /users/me/uploads/dag/:cid. */
  dag = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const account = context.principal.account.id
    return jsonResponse(200, presentDag(await this.#pins.dag({ account, cid: context.param('cid').trim() })))
  }

  /** PUT /files/rename/:uploadId. */
  rename = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const { newName } = await readRenameBody(context.request)
    const account = context.principal.account.id
    const name = await this.#pins.rename({ account, uploadId: context.param('uploadId'), name: newName })
    return jsonResponse(200, { updated: true, newName: name })
  }

  #progress(context: AuthenticatedContext) {
    const cluster = new RequestTarget(context).cluster()
    return this.#pins.status({ account: context.principal.account.id, cid: context.param('cid').trim(), cluster })
  }
}
