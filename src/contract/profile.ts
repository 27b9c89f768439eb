import { SCOPES } from '../access/principal.ts'
import type { ScopePolicy } from '../access/scope-policy.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import type { AccountView } from './account-view.ts'
import { readPasswordBody, readProfileBody } from './auth-schemas.ts'
import type { Accounts, Passwords } from './services.ts'

/** What the holder of an account may see and change of it. */
export class ProfileRoutes {
  readonly #accounts: Accounts
  readonly #passwords: Passwords
  readonly #policy: Pick<ScopePolicy, 'check' | 'checkSession'>
  readonly #view: AccountView

  constructor(
    accounts: Accounts,
    passwords: Passwords,
    policy: Pick<ScopePolicy, 'check' | 'checkSession'>,
    view: AccountView,
  ) {
    this.#accounts = accounts
    this.#passwords = passwords
    this.#policy = policy
    this.#view = view
  }

  /** GET /users/me: any valid credential will do, so that clients can ask whether theirs is one. */
  show = async ({ principal }: AuthenticatedContext): Promise<ApiResponse> =>
    jsonResponse(200, await this.#view.of(principal.account))

  /** PUT /users/me: a key needs every scope, and the email, which one signs in with, is for sessions only. */
  update = async ({ principal, request }: AuthenticatedContext): Promise<ApiResponse> => {
    this.#policy.check(principal, ...SCOPES)
    const { email, name } = await readProfileBody(request)
    if (email !== undefined) this.#policy.checkSession(principal)
    const account = await this.#accounts.setProfile(principal.account.id, { email, name })
    return jsonResponse(200, { message: 'profile updated', ...(await this.#view.of(account)) })
  }

  /** PUT /users/me/password: the session that asks goes on, all others end. */
  changePassword = async ({ principal, request }: AuthenticatedContext): Promise<ApiResponse> => {
    await this.#passwords.change(principal, await readPasswordBody(request))
    return jsonResponse(200, { message: 'password changed, other sessions have ended' })
  }
}
