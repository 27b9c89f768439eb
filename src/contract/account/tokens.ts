import { Type } from 'typebox'
import type { ApiKey } from '../../access/keys/api-key.ts'
import { MAX_ALLOWLIST } from '../../access/keys/key-input.ts'
import { type Principal, SCOPES, type Scope } from '../../access/principal.ts'
import { orNull } from '../../config/schema-parts.ts'
import { iso } from '../../domain/iso-instant.ts'
import { count, describedCount, instant, text } from '../answer-fields.ts'
import { optional, required } from '../body-reader.ts'
import { type ContractRoute, json, optionalJson, route, type Shown } from '../contract-route.ts'
import type { Services } from '../services.ts'
import { CODE_ERRORS, codeFields, codeOf } from './second-factor-code.ts'
import { SessionsEnded } from './session-routes.ts'

/** The limits are higher than any valid list needs. */
const words = Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 32 }))
const networks = Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: MAX_ALLOWLIST }))

const keyFields = {
  name: text,
  label: orNull(text),
  scopes: Type.Array(Type.Enum([...SCOPES])),
  createdAt: instant,
  expiresAt: orNull(instant),
}
/** The restrictions of an upload token. Null for other keys. */
export const Grant = Type.Object(
  {
    maxUses: count,
    maxBytes: orNull(Type.Integer({ description: "content bytes per upload; null for the plan's limit" })),
    cl: orNull(Type.String({ description: 'target cluster; null for the default cluster' })),
    timelock: orNull(instant),
  },
  { description: 'restrictions of an upload token; null for other keys' },
)
export const NewKeyView = Type.Object(
  {
    token: Type.String({ description: 'the secret; shown only once' }),
    ...keyFields,
    upload: Type.Optional(orNull(Grant)),
  },
  { title: 'NewKey' },
)
export const Key = Type.Object({
  ...keyFields,
  prefix: Type.String({ description: 'first characters of the secret' }),
  parent: orNull(Type.String({ description: 'name of the key that created it' })),
  permissions: Type.Array(Type.Enum(['read', 'write', 'admin'])),
  ipAllowlist: Type.Array(text),
  lastUsed: orNull(instant),
  upload: orNull(Grant),
  uses: describedCount('uploads made with an upload token'),
})
const Revoked = Type.Object({ name: text, revoked: Type.Literal(true) }, { title: 'Revoked' })

/** No other route returns the secret. The schema checks only types, and the key service validates the values. */
const generate = route({
  method: 'POST',
  path: '/tokens/generate',
  audit: 'key.create',
  access: 'authenticated',
  tag: 'API keys',
  summary: 'Create an API key',
  details:
    'The only answer with the secret. A key can create keys only with its own scopes and no later expiry. Revoking a key ' +
    'also revokes the keys that it created. An account with a second factor must send a code. A sign-in that the ' +
    'console keeps needs a proof (`POST /auth/proof`), except for an upload token.\n\n' +
    'With `maxUses` the key is an **upload token**, for a browser or program that uploads directly to the node. It can ' +
    'only call `POST /files`, `/files/directory-dag` and `/files/car`, within its limits of uses and bytes, with its ' +
    'cluster and expiry. A use counts when the upload is stored. Refused and aborted uploads do not count.',
  body: json(
    Type.Object({
      name: Type.Optional(
        Type.String({
          maxLength: 4_096,
          description: 'Required, except for an upload token, which gets a random name.',
        }),
      ),
      label: optional,
      scopes: words,
      permissions: words,
      expiresInDays: Type.Optional(Type.Number()),
      ipAllowlist: networks,
      maxUses: Type.Optional(
        Type.Number({ description: 'Number of uploads, 1 to 10,000. Makes the key an upload token.' }),
      ),
      maxBytes: Type.Optional(
        Type.Number({
          description: "Upload token only: content bytes per upload. Default: the plan's limit.",
        }),
      ),
      cl: Type.Optional(
        Type.String({ maxLength: 4_096, description: 'Upload token only: the cluster of its uploads.' }),
      ),
      timelock: Type.Optional(
        Type.String({ maxLength: 4_096, description: 'Upload token only: when its uploads expire.' }),
      ),
      expiresInSeconds: Type.Optional(Type.Number({ description: 'Upload token only: 1 to 604,800. Default 3,600.' })),
      ...codeFields,
    }),
  ),
  answers: { 201: NewKeyView },
  errors: [
    ...(['CONFLICT', 'QUOTA_EXCEEDED', 'CLUSTER_NOT_ALLOWED', 'INVALID_TIMELOCK', 'TIMELOCK_NOT_ALLOWED'] as const),
    ...(['proof_required', ...CODE_ERRORS] as const),
  ],
  handler: async ({ body, principal }, { keys, pins, proofs }) => {
    const { totpCode, twoFactorCode, cl: cluster, ...rest } = await body()
    const input = { ...rest, cluster }
    if (input.maxUses !== undefined) {
      await pins.checkTarget(principal.account.id, { cluster, timelock: input.timelock })
    }
    const { secret, key } = await keys.generate(principal, input, codeOf(totpCode ?? twoFactorCode), caller =>
      proofs.check(caller),
    )
    return { status: 201, body: presentNewKey(secret, key) }
  },
})

const list = route({
  method: 'GET',
  path: '/tokens/list',
  access: 'authenticated',
  tag: 'API keys',
  summary: 'List API keys, without their secrets',
  details: 'Oldest first, including expired keys, at most 1,000. `upload=true` lists the upload tokens instead.',
  query: { upload: { description: '`true`: upload tokens instead of all other keys.', schema: Type.Boolean() } },
  answers: { 200: Type.Array(Key, { title: 'Keys' }) },
  errors: ['VALIDATION'],
  handler: async ({ principal, query }, { keys }) => {
    const isUpload = query.get('upload') === 'true'
    return { status: 200, body: (await keys.list(principal.account.id, { isUpload })).map(presentKey) }
  },
})

/** The name of the key is in the path. The body contains only the second-factor code. */
const revoke = route({
  method: 'DELETE',
  path: '/tokens/revoke/:name',
  audit: 'key.revoke',
  access: 'authenticated',
  tag: 'API keys',
  summary: 'Revoke an API key',
  params: { name: 'The name of the key, percent-encoded.' },
  body: optionalJson(Type.Object(codeFields)),
  answers: { 200: Revoked },
  errors: ['NOT_FOUND', 'missing_scope', ...CODE_ERRORS],
  handler: async ({ body, param, principal }, { keys }) => {
    const { totpCode, twoFactorCode } = await body()
    return revokeKey(keys, principal, param('name'), codeOf(totpCode ?? twoFactorCode))
  },
})

const revokeByBody = route({
  method: 'POST',
  path: '/tokens/revoke',
  audit: 'key.revoke',
  access: 'authenticated',
  tag: 'API keys',
  summary: 'Revoke an API key, named in the body',
  body: json(Type.Object({ name: required, ...codeFields })),
  answers: { 200: Revoked },
  errors: ['NOT_FOUND', 'missing_scope', ...CODE_ERRORS],
  handler: async ({ body, principal }, { keys }) => {
    const { name, totpCode, twoFactorCode } = await body()
    return revokeKey(keys, principal, name, codeOf(totpCode ?? twoFactorCode))
  },
})

const keepConsole = route({
  method: 'POST',
  path: '/tokens/console',
  audit: 'key.create-console',
  access: 'authenticated',
  tag: 'API keys',
  summary: 'Create a key that keeps the sign-in of one tab of the console',
  details:
    'It has the scopes and addresses of the key in use. It ends after twelve hours at most, at `POST /auth/logout`, or ' +
    'at `DELETE /tokens/console`. One key keeps at most 16 tabs, and then gets 403 `QUOTA_EXCEEDED`. These keys do not ' +
    'count against the maximum number of keys. The keys that one creates, after a proof, belong to the key that signed ' +
    'in. Refused for itself, sessions, upload tokens and accounts with a second factor.',
  answers: { 201: NewKeyView },
  errors: ['CONFLICT', 'QUOTA_EXCEEDED', 'missing_scope', ...CODE_ERRORS],
  handler: async ({ principal }, { keys }) => {
    const { secret, key } = await keys.generateForConsole(principal)
    return { status: 201, body: presentNewKey(secret, key) }
  },
})

const endConsoles = route({
  method: 'DELETE',
  path: '/tokens/console',
  audit: 'sessions.end',
  access: 'authenticated',
  tag: 'API keys',
  summary: 'Sign out all tabs of the console that a key keeps signed in',
  details:
    'Revokes all keys of `POST /tokens/console` of the key in use. If that is one of them, of the key that signed in. ' +
    'Refused for sessions, which have `DELETE /auth/sessions`, and for upload tokens.',
  answers: { 200: SessionsEnded },
  errors: ['CONFLICT', 'missing_scope'],
  handler: async ({ principal }, { keys }) => {
    return { status: 200, body: { ended: await keys.endAllConsoles(principal) } }
  },
})

/** The key service checks whether the caller may create or revoke a key. */
export const tokenRoutes: readonly ContractRoute[] = [generate, keepConsole, endConsoles, list, revoke, revokeByBody]

async function revokeKey(
  keys: Services['keys'],
  principal: Principal,
  name: string,
  code: string | undefined,
): Promise<{ status: 200; body: Shown<typeof Revoked> }> {
  await keys.revoke(principal, name, code)
  return { status: 200, body: { name, revoked: true } }
}

function presentNewKey(secret: string, key: ApiKey): Shown<typeof NewKeyView> {
  const { name, label, scopes } = key
  const times = { expiresAt: iso(key.expiresAt), createdAt: iso(key.createdAt) }
  return { token: secret, name, label, scopes, ...times, ...(key.upload === null ? {} : { upload: presentGrant(key) }) }
}

function presentKey(key: ApiKey): Shown<typeof Key> {
  return {
    name: key.name,
    label: key.label,
    prefix: key.prefix,
    parent: key.parent,
    scopes: key.scopes,
    permissions: permissionsOf(key.scopes),
    ipAllowlist: key.ipAllowlist,
    createdAt: iso(key.createdAt),
    lastUsed: iso(key.lastUsedAt),
    expiresAt: iso(key.expiresAt),
    upload: presentGrant(key),
    uses: key.uses,
  }
}

function presentGrant({ upload }: ApiKey): Shown<typeof Grant> | null {
  if (upload === null) return null
  const { maxUses, maxBytes, cluster, timelock } = upload
  return { maxUses, maxBytes, cl: cluster, timelock: iso(timelock) }
}

/** Converts scopes to the coarser permissions that older clients expect. */
function permissionsOf(scopes: readonly Scope[]): Shown<typeof Key>['permissions'] {
  const has = (...wanted: Scope[]): boolean => wanted.every(scope => scopes.includes(scope))
  const permissions: ('read' | 'write' | 'admin')[] = []
  if (has('files:read', 'cluster:read')) permissions.push('read')
  if (has('files:write')) permissions.push('write')
  if (has('files:read', 'files:write', 'files:delete', 'cluster:read')) permissions.push('admin')
  return permissions
}
