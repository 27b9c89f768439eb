import { Type } from 'typebox'
import { orNull } from '../../config/schema-parts.ts'
import { iso } from '../../domain/iso-instant.ts'
import { count, instant, next, PAGE_QUERY, text } from '../answer-fields.ts'
import { type ContractRoute, route } from '../contract-route.ts'
import { pageRequest } from '../list-query.ts'
import { JobView, presentJob } from '../records/job-routes.ts'
import { Delivery, presentDelivery } from '../webhook-routes.ts'

const owner = { access: 'owner', tag: 'The owner' } as const

const OwnedJob = Type.Object({ ...JobView.properties, account: text }, { title: 'OwnedJob' })
const OwnedDelivery = Type.Object({ ...Delivery.properties, account: text, host: text }, { title: 'OwnedDelivery' })

const jobs = route({
  ...owner,
  method: 'GET',
  path: '/jobs',
  summary: 'List the jobs of all accounts, newest first',
  details: '`{jobs, next}`: the jobs of `GET /jobs`, each with its `account`. `limit` (100, at most 1,000), `after`.',
  query: PAGE_QUERY,
  answers: { 200: Type.Object({ jobs: Type.Array(OwnedJob), next }, { title: 'OwnedJobs' }) },
  errors: ['VALIDATION'],
  handler: async ({ query }, { bulk }) => {
    const page = await bulk.recent(pageRequest(query))
    const shown = page.rows.map(({ accountId, ...job }) => ({ ...presentJob(job), account: accountId }))
    return { status: 200, body: { jobs: shown, next: page.next } }
  },
})

const backups = route({
  ...owner,
  method: 'GET',
  path: '/backups',
  summary: 'Show the running backup, and the age of the newest',
  details:
    '`{hasRoots, running, newestAt}`. The field `running` is `{blocks, bytes}` so far, or null. The field `newestAt` is the ' +
    'newest backup below `backupRoots`, up to a minute old, or null. The node does not know backups in other directories.',
  answers: {
    200: Type.Object(
      {
        hasRoots: Type.Boolean(),
        running: orNull(Type.Object({ blocks: count, bytes: count })),
        newestAt: orNull(instant),
      },
      { title: 'BackupState' },
    ),
  },
  handler: async (_, services) => {
    const { newestAt, ...state } = await services.backups.state()
    return { status: 200, body: { ...state, newestAt: iso(newestAt) } }
  },
})

const deliveries = route({
  ...owner,
  method: 'GET',
  path: '/deliveries',
  summary: 'List webhook deliveries of all accounts, newest first',
  details:
    '`{deliveries, next}`, as `GET /webhooks/{id}/deliveries`. Each has its `account`, and the `host` of its URL. With ' +
    '`failed=true`, lists only the deliveries that have ended without success. `limit` (100, at most 1,000), `after`.',
  query: { ...PAGE_QUERY, failed: { description: '`true` for failed deliveries only.', schema: Type.Boolean() } },
  answers: { 200: Type.Object({ deliveries: Type.Array(OwnedDelivery), next }, { title: 'OwnedDeliveries' }) },
  errors: ['VALIDATION'],
  handler: async ({ query }, { webhooks }) => {
    const page = await webhooks.recent(query.get('failed') === 'true', pageRequest(query))
    const shown = page.rows.map(row => ({ ...presentDelivery(row), account: row.accountId, host: row.host }))
    return { status: 200, body: { deliveries: shown, next: page.next } }
  },
})

const resend = route({
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

export const workRoutes: readonly ContractRoute[] = [jobs, backups, deliveries, resend]
