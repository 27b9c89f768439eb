import { HoldfastError } from '../domain/errors.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
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
  list = (context: AuthenticatedContext): ApiResponse => {
    const { query, principal } = context
    const page = this.#pins.list({
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

/** Throws `VALIDATION` for anything that is not a whole number from 1. A number too large to be exact is the largest. */
function positiveInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!/^0*[1-9]\d*$/.test(text)) throw new HoldfastError('VALIDATION', `${name} must be a positive integer`)
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}
