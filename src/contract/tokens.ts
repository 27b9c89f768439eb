import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import { codeOf, readCodeBody, readKeyBody, readRevokeBody } from './auth-schemas.ts'
import { presentKey, presentNewKey } from './presenters.ts'
import type { Keys } from './services.ts'

/** API keys. Who may mint or revoke what is decided by the key service. */
export class TokenRoutes {
  readonly #keys: Keys

  constructor(keys: Keys) {
    this.#keys = keys
  }

  /** POST /tokens/generate. The only answer that ever holds the secret. */
  generate = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const { totpCode, twoFactorCode, ...input } = await readKeyBody(context.request)
    const { secret, key } = await this.#keys.generate(context.principal, input, codeOf(totpCode ?? twoFactorCode))
    return jsonResponse(201, presentNewKey(secret, key))
  }

  /** GET /tokens/list: an array at the top level. */
  list = async (context: AuthenticatedContext): Promise<ApiResponse> =>
    jsonResponse(200, (await this.#keys.list(context.principal.account.id)).map(presentKey))

  /** DELETE /tokens/revoke/:name. A body is there only for the code of the second factor. */
  revoke = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const { totpCode, twoFactorCode } = await readCodeBody(context.request)
    return this.#revoke(context, context.param('name'), codeOf(totpCode ?? twoFactorCode))
  }

  /** POST /tokens/revoke, with the name in the body. */
  revokeByBody = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const { name, totpCode, twoFactorCode } = await readRevokeBody(context.request)
    return this.#revoke(context, name, codeOf(totpCode ?? twoFactorCode))
  }

  async #revoke(context: AuthenticatedContext, name: string, code: string | undefined): Promise<ApiResponse> {
    await this.#keys.revoke(context.principal, name, code)
    return jsonResponse(200, { name, revoked: true })
  }
}
