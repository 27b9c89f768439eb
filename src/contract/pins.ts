import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import { presentPin } from './presenters.ts'
import { present, RequestTarget } from './request-target.ts'
import { readPinBody } from './schemas.ts'
import type { Pins } from './services.ts'

/** Pinning by CID, and the removal of pins. */
export class PinRoutes {
  readonly #pins: Pins

  constructor(pins: Pins) {
    this.#pins = pins
  }

  /** POST /files/pin/:cid. */
  pin = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const { principal, request } = context
    const target = new RequestTarget(context)
    await target.check(this.#pins, principal.account.id)
    const body = await readPinBody(request)
    const { record, created } = await this.#pins.pin({
      account: principal.account.id,
      cid: context.param('cid').trim(),
      cluster: target.cluster(body.cl),
      timelock: present(body.timelock),
      originalName: body.originalName,
      customName: body.customName ?? body.filename,
      origins: body.origins,
      respondAsync: prefersAsync(request.header('prefer')),
      signal: request.signal,
    })
    return jsonResponse(created ? 201 : 200, presentPin(record))
  }

  /** DELETE /files/remove/:cid. */
  remove = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const cid = context.param('cid').trim()
    const cluster = new RequestTarget(context).cluster()
    await this.#pins.remove({ account: context.principal.account.id, cid, cluster })
    return jsonResponse(200, { cid, removed: true, success: true })
  }
}

/** `Prefer: respond-async` (RFC 7240). */
function prefersAsync(prefer: string | undefined): boolean {
  return (prefer ?? '').split(',').some(item => /^\s*respond-async\s*(;|$)/i.test(item))
}
