import { Type } from 'typebox'
import type { Principal } from '../../access/principal.ts'
import { orNull } from '../../config/schema-parts.ts'
import { count, describedCount, instant, next, PAGE_QUERY, text } from '../../contract/answer-fields.ts'
import { required } from '../../contract/body-reader.ts'
import { type ContractRoute, json, routesWith, type Shown } from '../../contract/contract-route.ts'
import { pageRequest } from '../../contract/list-query.ts'
import type { Services } from '../../contract/services.ts'
import { iso } from '../../domain/iso-instant.ts'
import type { Webhook, WebhookService } from './webhook-service.ts'
import type { DeliveryRow } from './webhook-store.ts'

/** Services that only the routes of webhooks use. */
export interface WebhookServices {
  webhooks: Pick<WebhookService, 'create' | 'list' | 'remove' | 'deliveries' | 'recent' | 'resend'>
}

export const webhookRoute = routesWith<WebhookServices>()

const webhookFields = {
  id: text,
  url: text,
  createdAt: instant,
  waiting: describedCount('pending deliveries'),
  dropped: describedCount('events without a delivery, because too many were pending'),
}
export const WebhookView = Type.Object(webhookFields, { title: 'Webhook' })
export const NewWebhookView = Type.Object(
  { ...webhookFields, secret: Type.String({ description: 'signs deliveries; shown only once' }) },
  { title: 'NewWebhook' },
)
export const Delivery = Type.Object(
  {
    id: text,
    event: Type.Enum(['pin:created', 'pin:status', 'pin:removed']),
    uploadId: text,
    state: Type.Enum(['waiting', 'delivered', 'failed']),
    at: orNull(instant),
    attempts: count,
    nextAttemptAt: orNull(instant),
    lastAttemptAt: orNull(instant),
    lastStatus: orNull(Type.Integer({ description: 'HTTP status of the last answer' })),
    lastError: orNull(text),
  },
  { title: 'Delivery' },
)

const common = { tag: 'Webhooks', access: 'files:read' } as const
const ID = { id: 'Its id, as listed.' }

const create = webhookRoute({
  ...common,
  method: 'POST',
  path: '/webhooks',
  audit: 'webhook.create',
  access: 'files:write',
  summary: 'Send events of the account’s records to a URL',
  details:
    'Also needs `files:read`. The URL receives a POST for each record that is created, changes its status or is removed. ' +
    'Failed deliveries are retried with backoff for about a day, until a 2xx answer. Redirects are not followed, and ' +
    'private addresses are refused. `Holdfast-Signature: t=SECONDS,v1=HEX` has the HMAC-SHA-256 of `SECONDS.BODY` by ' +
    'the secret. Revoking a key deletes its webhooks.',
  body: json(Type.Object({ url: required })),
  answers: { 201: NewWebhookView },
  errors: ['QUOTA_EXCEEDED', 'missing_scope', 'proof_required'],
  handler: async ({ body, principal }, services) => {
    checkReads(principal, services)
    const { url } = await body()
    await services.proofs.check(principal)
    const { kind, id, consoleOf } = principal.credential
    // A key of the console ends at the sign-out, and would end its webhooks.
    const keyId = kind === 'key' ? (consoleOf ?? id) : null
    const { webhook, secret } = await services.webhooks.create(principal.account.id, { url, keyId })
    return { status: 201, body: { ...presentWebhook(webhook), secret } }
  },
})

const list = webhookRoute({
  ...common,
  method: 'GET',
  path: '/webhooks',
  summary: 'List the account’s webhooks, oldest first, without their secrets',
  answers: { 200: Type.Object({ webhooks: Type.Array(WebhookView) }) },
  handler: async ({ principal }, { webhooks }) => {
    return { status: 200, body: { webhooks: (await webhooks.list(principal.account.id)).map(presentWebhook) } }
  },
})

const remove = webhookRoute({
  ...common,
  method: 'DELETE',
  path: '/webhooks/:id',
  audit: 'webhook.delete',
  access: 'files:write',
  summary: 'Delete a webhook',
  params: ID,
  answers: { 200: Type.Object({ removed: Type.Literal(true) }) },
  errors: ['NOT_FOUND'],
  handler: async ({ principal, param }, { webhooks }) => {
    await webhooks.remove(principal.account.id, param('id'))
    return { status: 200, body: { removed: true } }
  },
})

const deliveries = webhookRoute({
  ...common,
  method: 'GET',
  path: '/webhooks/:id/deliveries',
  summary: 'List the deliveries of a webhook, newest first',
  details: 'The last 100 completed deliveries are kept.',
  params: ID,
  query: PAGE_QUERY,
  answers: { 200: Type.Object({ deliveries: Type.Array(Delivery), next }) },
  errors: ['NOT_FOUND', 'VALIDATION'],
  handler: async ({ principal, param, query }, { webhooks }) => {
    const page = await webhooks.deliveries(principal.account.id, param('id'), pageRequest(query))
    return { status: 200, body: { deliveries: page.rows.map(presentDelivery), next: page.next } }
  },
})

export const webhookRoutes: ReadonlyArray<ContractRoute<Services & WebhookServices>> = [
  create,
  list,
  deliveries,
  remove,
]

/** Checks that the creator of a webhook may read records, because the webhook sends records to a URL. */
function checkReads(principal: Principal, { scopes }: Services): void {
  scopes.check(principal, 'files:read')
}

function presentWebhook({ id, url, createdAt, waiting, dropped }: Webhook): Shown<typeof WebhookView> {
  return { id, url, createdAt: iso(createdAt), waiting, dropped }
}

export function presentDelivery(row: DeliveryRow): Shown<typeof Delivery> {
  const { uploadId } = JSON.parse(row.record) as { uploadId: string }
  const ended = row.isDelivered ? 'delivered' : 'failed'
  return {
    id: String(row.id),
    event: row.event,
    uploadId,
    state: row.dueAt === null ? ended : 'waiting',
    at: iso(row.createdAt),
    attempts: row.attempts,
    nextAttemptAt: row.attempts === 0 ? null : iso(row.dueAt),
    lastAttemptAt: iso(row.lastAt),
    lastStatus: row.lastStatus,
    lastError: row.lastError,
  }
}
