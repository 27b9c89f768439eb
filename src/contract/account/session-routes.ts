import { Type } from 'typebox'
import type { Page } from '../../catalogue/page.ts'
import type { Session } from '../../catalogue/session-store.ts'
import { iso } from '../../domain/iso-instant.ts'
import { describedCount, instant, next, PAGE_QUERY, text } from '../answer-fields.ts'
import { type ContractRoute, route, type Shown } from '../contract-route.ts'
import { pageRequest } from '../list-query.ts'

export const SessionView = Type.Object({
  id: text,
  createdAt: instant,
  expiresAt: instant,
  current: Type.Boolean({ description: 'true for the session of this request' }),
})
export const SessionPage = Type.Object({ sessions: Type.Array(SessionView), next }, { title: 'Sessions' })
export const SessionsEnded = Type.Object(
  { ended: describedCount('number of ended sessions') },
  { title: 'SessionsEnded' },
)

const list = route({
  method: 'GET',
  path: '/auth/sessions',
  access: 'session',
  tag: 'Signing in',
  summary: 'List the sessions of the account, oldest first',
  query: PAGE_QUERY,
  answers: { 200: SessionPage },
  errors: ['VALIDATION'],
  handler: async ({ principal, query }, { sessionLists }) => {
    const page = await sessionLists.list(principal.account.id, pageRequest(query))
    return { status: 200, body: presentSessions(page, principal.credential.id) }
  },
})

const endOthers = route({
  method: 'DELETE',
  path: '/auth/sessions',
  audit: 'sessions.end',
  access: 'session',
  tag: 'Signing in',
  summary: 'End all other sessions of the account',
  answers: { 200: SessionsEnded },
  handler: async ({ principal }, { sessionLists }) => {
    return { status: 200, body: { ended: await sessionLists.endAll(principal.account.id, principal.credential.id) } }
  },
})

const end = route({
  method: 'DELETE',
  path: '/auth/sessions/:id',
  audit: 'session.end',
  access: 'session',
  tag: 'Signing in',
  summary: 'End a session of the account',
  params: { id: 'Its id, as listed.' },
  answers: { 200: SessionsEnded },
  errors: ['NOT_FOUND'],
  handler: async ({ principal, param }, { sessionLists }) => {
    await sessionLists.end(principal.account.id, param('id'))
    return { status: 200, body: { ended: 1 } }
  },
})

export const sessionRoutes: readonly ContractRoute[] = [list, endOthers, end]

/** @param current id of the session to mark as current; null to mark none */
export function presentSessions({ rows, next }: Page<Session>, current: string | null): Shown<typeof SessionPage> {
  const sessions = rows.map(({ id, createdAt, expiresAt }) => {
    return { id, createdAt: iso(createdAt), expiresAt: iso(expiresAt), current: id === current }
  })
  return { sessions, next }
}
