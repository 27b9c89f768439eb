import { Type } from 'typebox'
import { next, PAGE_QUERY, text } from '../../contract/answer-fields.ts'
import type { ContractRoute } from '../../contract/contract-route.ts'
import { pageRequest } from '../../contract/list-query.ts'
import type { Services } from '../../contract/services.ts'
import { Delivery, presentDelivery, type WebhookServices, webhookRoute } from './webhook-routes.ts'

const owner = { access: 'owner', tag: 'The owner' } as const

export const OwnedDeliveryView = Type.Object(
  { ...Delivery.properties, account: text, host: text },
  { title: 'OwnedDelivery' },
)

const deliveries = webhookRoute({
  ...owner,
  method: 'GET',
  path: '/deliveries',
  summary: 'List webhook deliveries of all accounts, newest first',
  details:
    '`{deliveries, next}`, as `GET /webhooks/{id}/deliveries`. Each has its `account`, and the `host` of its URL. With ' +
    '`failed=true`, lists only the deliveries that have ended without success. `limit` (100, at most 1,000), `after`.',
  query: { ...PAGE_QUERY, failed: { description: '`true` for failed deliveries only.', schema: Type.Boolean() } },
  answers: { 200: Type.Object({ deliveries: Type.Array(OwnedDeliveryView), next }, { title: 'OwnedDeliveries' }) },
  errors: ['VALIDATION'],
  handler: async ({ query }, { webhooks }) => {
    const page = await webhooks.recent(query.get('failed') === 'true', pageRequest(query))
    const shown = page.rows.map(row => ({ ...presentDelivery(row), account: row.accountId, host: row.host }))
    return { status: 200, body: { deliveries: shown, next: page.next } }
  },
})

const resend = webhookRoute({
  ...owner,
  method: 'POST',
  path: '/deliveries/:id/resend',
  audit: 'webhook.resend',
  summary: 'Send a failed delivery again',
  details: '`{resent: true}`. The delivery is sent at once, and then retried as a new one.',
  params: { id: 'Its id, as listed.' },
  answers: { 200: Type.Object({ resent: Type.Literal(true) }) },
  errors: ['NOT_FOUND'],
  handler: async ({ param }, { webhooks }) => {
    await webhooks.resend(param('id'))
    return { status: 200, body: { resent: true } }
  },
})

/** The owner's view of all deliveries. */
export const deliveryRoutes: ReadonlyArray<ContractRoute<Services & WebhookServices>> = [deliveries, resend]
