import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import { pageRequest } from './page-query.ts'
import { presentSessions } from './presenters.ts'
import type { SessionLists } from './services.ts'

/** Where the holder of an account is signed in. */
export class SessionRoutes {
  readonly #sessions: SessionLists

  constructor(sessions: SessionLists) {
    this.#sessions = sessions
  }

  /** GET /auth/sessions: oldest first, the one that asks among them. */
  list = async ({ principal, query }: AuthenticatedContext): Promise<ApiResponse> => {
    const page = await this.#sessions.list(principal.account.id, pageRequest(query))
    return jsonResponse(200, presentSessions(page, principal.credential.id))
  }

  /** DELETE /auth/sessions: all but the one that asks. */
  endOthers = async ({ principal }: AuthenticatedContext): Promise<ApiResponse> =>
    jsonResponse(200, { ended: await this.#sessions.endAll(principal.account.id, principal.credential.id) })

  /** DELETE /auth/sessions/:id. */
  end = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    await this.#sessions.end(context.principal.account.id, context.param('id'))
    return jsonResponse(200, { ended: 1 })
  }
}
