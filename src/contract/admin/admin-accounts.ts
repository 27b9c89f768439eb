import { Type } from 'typebox'
import { type Account, SCOPES } from '../../access/principal.ts'
import { orNull } from '../../config/schema-parts.ts'
import { iso } from '../../domain/iso-instant.ts'
import type { AccountEgress } from '../../gateway/policy/account-egress.ts'
import type { AuthenticatedContext } from '../../http/route.ts'
import { presentSessions, SessionPage, SessionsEnded } from '../account/session-routes.ts'
import { egress, usage } from '../account/user-fields.ts'
import { count, instant, PAGE_QUERY, text } from '../answer-fields.ts'
import { required } from '../body-reader.ts'
import { type ContractRoute, json, route, type Shown } from '../contract-route.ts'
import { pageRequest, positiveInteger } from '../list-query.ts'
import type { Services } from '../services.ts'
import { LIST_QUERY, listUploads, UploadList } from '../uploads/uploads.ts'

const PAGE_ROWS = 100
const MOST_PAGE_ROWS = 1_000

export const ManagedAccount = Type.Object(
  {
    id: text,
    email: text,
    name: orNull(text),
    role: Type.Enum(['owner', 'user']),
    plan: text,
    disabled: Type.Boolean(),
    createdAt: instant,
    usage,
    egress,
  },
  { title: 'ManagedAccount' },
)
export const ManagedAccounts = Type.Object(
  {
    accounts: Type.Array(ManagedAccount),
    total: count,
    pagination: Type.Object({ page: count, limit: count, total: count, totalPages: count }),
  },
  { title: 'ManagedAccounts' },
)

const owner = { access: 'owner', tag: 'The owner' } as const
const params = { id: 'The id of the account, as listed.' }

const list = route({
  ...owner,
  method: 'GET',
  path: '/accounts',
  summary: 'List accounts, oldest first',
  details:
    '`{accounts, total, pagination}`, with `usage: {pins, storedBytes, keptBytes}` and `egress`; `page`, `limit` (100, at most 1,000).',
  query: {
    page: { description: 'From 1.', schema: Type.Integer({ minimum: 1 }) },
    limit: { description: '100 unless given, at most 1,000.', schema: Type.Integer({ minimum: 1 }) },
  },
  answers: { 200: ManagedAccounts },
  errors: ['VALIDATION'],
  handler: async ({ query }, services) => {
    const page = positiveInteger(query, 'page') ?? 1
    const limit = Math.min(positiveInteger(query, 'limit') ?? PAGE_ROWS, MOST_PAGE_ROWS)
    // SQLite fails with an offset beyond its integer range.
    const offset = Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER)
    const { accounts: found, total } = await services.accounts.page(offset, limit)
    const egressOf = await services.egress.read(found.map(({ id }) => id))
    const rows = await Promise.all(found.map(account => presentAccount(services, account, egressOf)))
    const pagination = { page, limit, total, totalPages: Math.ceil(total / limit) }
    return { status: 200, body: { accounts: rows, total, pagination } }
  },
})

const NewAccount = Type.Object(
  {
    ...ManagedAccount.properties,
    token: Type.String({ description: 'An API key of the account with every scope. Shown only once.' }),
  },
  { title: 'NewAccount' },
)

const create = route({
  ...owner,
  method: 'POST',
  path: '/accounts',
  audit: 'account.create',
  summary: 'Create an account',
  details:
    '201 with the account and `token`, an API key with every scope. Body: `{"email", "plan", "name", "password"}`. `name` ' +
    'and `password` are optional. Without a password, the account uses only keys.',
  body: json(
    Type.Object({
      email: required,
      plan: required,
      name: Type.Optional(Type.String()),
      password: Type.Optional(Type.String()),
    }),
  ),
  answers: { 201: NewAccount },
  errors: ['CONFLICT', 'proof_required'],
  handler: async ({ body, principal }, services) => {
    const { accounts, keys, proofs } = services
    const { email, plan, name = null, password } = await body()
    await proofs.check(principal)
    const account = await accounts.create({ email, plan, name, ...(password !== undefined && { password }) })
    const { secret } = await keys.create(account.id, { name: 'default', scopes: SCOPES })
    return { status: 201, body: { ...(await presentAccount(services, account)), token: secret } }
  },
})

const setPlan = route({
  ...owner,
  method: 'PUT',
  path: '/accounts/:id/plan',
  audit: 'account.plan',
  summary: 'Change the plan of an account',
  details: 'The account. Body: `{"plan"}`. Content beyond the new limits stays, but the account cannot add more.',
  params,
  body: json(Type.Object({ plan: required })),
  answers: { 200: ManagedAccount },
  errors: ['NOT_FOUND'],
  handler: async ({ body, param }, services) => {
    const { plan } = await body()
    const account = await services.accounts.setPlan(param('id'), plan)
    return { status: 200, body: await presentAccount(services, account) }
  },
})

const disable = route({
  ...owner,
  method: 'POST',
  path: '/accounts/:id/disable',
  audit: 'account.disable',
  summary: 'Disable an account',
  details:
    'The account. Its content stays, and its requests get 403 `account_disabled`. The last owner cannot be disabled or ' +
    'deleted (409).',
  params,
  answers: { 200: ManagedAccount },
  errors: ['NOT_FOUND', 'CONFLICT'],
  handler: (context, services) => setDisabled(context, services, true),
})

const enable = route({
  ...owner,
  method: 'POST',
  path: '/accounts/:id/enable',
  audit: 'account.enable',
  summary: 'Enable an account again',
  params,
  answers: { 200: ManagedAccount },
  errors: ['NOT_FOUND', 'CONFLICT'],
  handler: (context, services) => setDisabled(context, services, false),
})

const remove = route({
  ...owner,
  method: 'DELETE',
  path: '/accounts/:id',
  audit: 'account.delete',
  summary: 'Delete an account',
  details: '`{id, deleted: true}`. The email is free at once. The pins are removed soon after.',
  params,
  answers: { 200: Type.Object({ id: text, deleted: Type.Literal(true) }) },
  errors: ['NOT_FOUND', 'CONFLICT'],
  handler: async ({ param }, { accounts }) => {
    const id = param('id')
    await accounts.delete(id)
    return { status: 200, body: { id, deleted: true } }
  },
})

const uploads = route({
  ...owner,
  method: 'GET',
  path: '/accounts/:id/uploads',
  summary: 'List the uploads of an account, newest first',
  details:
    'As `GET /api/v3/users/me/uploads`, with the same parameters, also for private records. The answer has names and ' +
    'sizes, but no content.',
  params,
  query: LIST_QUERY,
  answers: { 200: UploadList },
  errors: ['NOT_FOUND', 'VALIDATION'],
  handler: async ({ param, query }, { accounts, pins }) => {
    const { id } = await accounts.get(param('id'))
    return { status: 200, body: await listUploads(pins, id, query) }
  },
})

const sessions = route({
  ...owner,
  method: 'GET',
  path: '/accounts/:id/sessions',
  summary: 'List the sessions of an account, oldest first',
  details:
    '`{sessions: [{id, createdAt, expiresAt, current}], next}`; `limit` (100, at most 1,000), `after` (the `next` of the ' +
    'previous page).',
  params,
  query: PAGE_QUERY,
  answers: { 200: SessionPage },
  errors: ['NOT_FOUND'],
  handler: async ({ param, query, principal }, { accounts, sessionLists }) => {
    const { id } = await accounts.get(param('id'))
    const page = await sessionLists.list(id, pageRequest(query))
    return { status: 200, body: presentSessions(page, principal.credential.id) }
  },
})

const endSessions = route({
  ...owner,
  method: 'DELETE',
  path: '/accounts/:id/sessions',
  audit: 'sessions.end',
  summary: 'End all sessions of an account',
  details: '`{ended}`: number of ended sessions.',
  params,
  answers: { 200: SessionsEnded },
  errors: ['NOT_FOUND'],
  handler: async ({ param }, { accounts, sessionLists }) => {
    const { id } = await accounts.get(param('id'))
    return { status: 200, body: { ended: await sessionLists.endAll(id) } }
  },
})

const passwordLink = route({
  ...owner,
  method: 'POST',
  path: '/accounts/:id/password-link',
  audit: 'password-link.create',
  summary: 'Make a link that sets the password of an account',
  details:
    '`{token, expiresAt}`. Open the console at `#/password?token=<token>`. The link works once, for a day, and replaces the ' +
    'former one. A link for an owner needs a session, because a key could outlive itself with it.',
  params,
  answers: { 201: Type.Object({ token: text, expiresAt: instant }) },
  errors: ['NOT_FOUND', 'SESSION_REQUIRED', 'proof_required'],
  handler: async ({ param, principal }, { accounts, scopes, proofs }) => {
    const { id, role } = await accounts.get(param('id'))
    if (role === 'owner') scopes.checkSession(principal)
    await proofs.check(principal)
    const { token, expiresAt } = await accounts.makePasswordLink(id)
    return { status: 201, body: { token, expiresAt: iso(expiresAt) } }
  },
})

export const adminAccountRoutes: readonly ContractRoute[] = [
  list,
  create,
  setPlan,
  remove,
  disable,
  enable,
  uploads,
  sessions,
  endSessions,
  passwordLink,
]

async function setDisabled(
  { param }: AuthenticatedContext,
  services: Services,
  disabled: boolean,
): Promise<{ status: 200; body: Shown<typeof ManagedAccount> }> {
  const account = await services.accounts.setDisabled(param('id'), disabled)
  return { status: 200, body: await presentAccount(services, account) }
}

async function presentAccount(
  { pins, egress: sent }: Services,
  account: Account,
  egressOf?: (id: string) => AccountEgress,
): Promise<Shown<typeof ManagedAccount>> {
  const find = egressOf ?? (await sent.read([account.id]))
  const used = await pins.usage(account.id)
  const { owner: _, defaultVisibility: __, ...shown } = account
  return { ...shown, createdAt: iso(account.createdAt), usage: used, egress: find(account.id) }
}
