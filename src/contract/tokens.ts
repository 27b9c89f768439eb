import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import { presentKey, presentNewKey } from './presenters.ts'
import { readKeyBody, readRevokeBody } from './schemas.ts'
import type { Keys } from './services.ts'

/** API keys. Who may mint or revoke what is decided by the key service. */
export class TokenRoutes {
  readonly #keys: Keys

  constructor(keys: Keys) {
    this.#keys = keys
  }

  /** POST /tokens/generate. The only answer that ever holds the secret. */
  generate = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const { secret, key } = await this.#keys.generate(context.principal, await readKeyBody(context.request))
    return jsonResponse(201, presentNewKey(secret, key))
  }

  /** GET /tokens/list: an array at the top level. */
  list = (context: AuthenticatedContext): ApiResponse =>
    jsonResponse(200, this.#keys.list(context.principal.account.id).map(presentKey))

  /** DELETE /tokens/revoke/:name. */
  revoke = (context: AuthenticatedContext): Promise<ApiResponse> => this.#revoke(context, context.param('name'))

  /** POST /tokens/revoke, with the name in the body. */
  revokeByBody = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const { name } = await readRevokeBody(context.request)
    return this.#revoke(context, name)
  }

  async #revoke(context: AuthenticatedContext, name: string): Promise<ApiResponse> {
    await this.#keys.revoke(context.principal, name)
    return jsonResponse(200, { name, revoked: true })
  }
}
