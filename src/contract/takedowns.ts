import { Type } from 'typebox'
import type { Takedown, Takedowns } from '../gateway/policy/takedowns.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext, Route } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import { ADMIN_PATH } from './admin-routes.ts'
import { pageRequest } from './page-query.ts'
import { bodyReader } from './schemas.ts'

const readTakedownBody = bodyReader(
  Type.Object({
    cid: Type.String({ maxLength: 512 }),
    path: Type.Optional(Type.String({ maxLength: 4_096 })),
    reason: Type.String({ maxLength: 1_000 }),
    status: Type.Optional(Type.Union([Type.Literal(410), Type.Literal(451)])),
  }),
)

/** What the owner has the gateway refuse, as a table. */
export function createTakedownRoutes(takedowns: Pick<Takedowns, 'page' | 'add' | 'remove'>): Route[] {
  const list = ({ query }: AuthenticatedContext): ApiResponse => {
    const { rows, next } = takedowns.page(pageRequest(query))
    return jsonResponse(200, { takedowns: rows.map(presentTakedown), next })
  }
  const add = async ({ request }: AuthenticatedContext): Promise<ApiResponse> =>
    jsonResponse(201, presentTakedown(await takedowns.add(await readTakedownBody(request))))
  const remove = async ({ param, query }: AuthenticatedContext): Promise<ApiResponse> => {
    await takedowns.remove({ cid: param('cid'), path: query.get('path') ?? '' })
    return jsonResponse(200, { removed: true })
  }
  return [
    { method: 'GET', path: `${ADMIN_PATH}/takedowns`, access: 'owner', handler: list },
    { method: 'POST', path: `${ADMIN_PATH}/takedowns`, access: 'owner', handler: add },
    { method: 'DELETE', path: `${ADMIN_PATH}/takedowns/:cid`, access: 'owner', handler: remove },
  ]
}

function presentTakedown({ at, ...takedown }: Takedown): object {
  return { ...takedown, at: new Date(at).toISOString() }
}
