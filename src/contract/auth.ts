import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext, RequestContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import type { AccountView } from './account-view.ts'
import { codeOf, readLoginBody, readSignUpBody, readVerifyLoginBody } from './auth-schemas.ts'
import type { Logins, Sessions, SignUps } from './services.ts'

/** Signing up, in and out. */
export class AuthRoutes {
  readonly #logins: Logins
  readonly #sessions: Sessions
  readonly #signUp: SignUps
  readonly #view: AccountView

  constructor(logins: Logins, sessions: Sessions, signUp: SignUps, view: AccountView) {
    this.#logins = logins
    this.#sessions = sessions
    this.#signUp = signUp
    this.#view = view
  }

  /** POST /auth/login: a session, or what the code of the second factor is to come with. */
  login = async ({ request }: RequestContext): Promise<ApiResponse> => {
    const outcome = await this.#logins.login(await readLoginBody(request), request.remoteAddress)
    if ('temporaryToken' in outcome) {
      return jsonResponse(200, { requires2FA: true, temporaryToken: outcome.temporaryToken })
    }
    return jsonResponse(200, { token: outcome.token, user: await this.#view.of(outcome.account) })
  }

  /** POST /auth/2fa/verify-login. */
  verifyLogin = async ({ request }: RequestContext): Promise<ApiResponse> => {
    const { temporaryToken, code } = await readVerifyLoginBody(request)
    const input = { temporaryToken, code: codeOf(code) }
    const { token, account } = await this.#logins.verifyLogin(input, request.remoteAddress)
    return jsonResponse(200, { token, user: await this.#view.of(account) })
  }

  /** POST /auth/logout. A key stays as it is: it has not signed in. */
  logout = async ({ principal }: AuthenticatedContext): Promise<ApiResponse> => {
    const { kind, id } = principal.credential
    if (kind === 'key') return jsonResponse(200, { message: 'an API key is not signed in; it works until revoked' })
    await this.#sessions.end(id)
    return jsonResponse(200, { message: 'signed out' })
  }

  /** POST /auth/signup. */
  signUp = async ({ request }: RequestContext): Promise<ApiResponse> => {
    const account = await this.#signUp.signUp(await readSignUpBody(request), request.remoteAddress)
    return jsonResponse(201, { message: 'account created, sign in now', user: await this.#view.of(account) })
  }
}
