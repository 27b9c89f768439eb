import { HoldfastError } from '../domain/errors.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import { codeOf, readDisableBody, readEnableBody } from './auth-schemas.ts'
import type { Passwords, SecondFactors } from './services.ts'

/** Turning the second factor on and off. */
export class SecondFactorRoutes {
  readonly #secondFactor: SecondFactors
  readonly #passwords: Passwords

  constructor(secondFactor: SecondFactors, passwords: Passwords) {
    this.#secondFactor = secondFactor
    this.#passwords = passwords
  }

  /** POST /auth/2fa/setup: a new secret, which counts once a code of it has been seen. */
  setup = async ({ principal }: AuthenticatedContext): Promise<ApiResponse> =>
    jsonResponse(200, await this.#secondFactor.begin(principal.account))

  /** POST /auth/2fa/enable: the only answer that ever holds the recovery codes. */
  enable = async ({ principal, request }: AuthenticatedContext): Promise<ApiResponse> => {
    const { code } = await readEnableBody(request)
    const recoveryCodes = await this.#secondFactor.enable(principal.account.id, codeOf(code))
    return jsonResponse(200, { enabled: true, recoveryCodes })
  }

  /** POST /auth/2fa/disable, on the word of a code or of the password. */
  disable = async ({ principal, request }: AuthenticatedContext): Promise<ApiResponse> => {
    const { id } = principal.account
    const { code, password } = await readDisableBody(request)
    if (!(await this.#secondFactor.isEnabled(id)))
      throw new HoldfastError('CONFLICT', 'two-factor authentication is not on')
    if (code === undefined && password !== undefined) await this.#passwords.confirm(id, password, 'password')
    else await this.#secondFactor.check(id, codeOf(code))
    await this.#secondFactor.disable(id)
    return jsonResponse(200, { enabled: false })
  }
}
