import { among, IF_UNLOCKED, indexed, isSet, isUnset } from '../../catalogue/rules/dialect.ts'
import { type CatalogueDriver, first, type Rule, run } from '../../catalogue/rules/driver.ts'
import {
  beginJob,
  dueJobs,
  dueStates,
  endJob,
  enqueue,
  JOB,
  retryJob,
  withJob,
} from '../../catalogue/rules/job-rules.ts'
import { newestPage } from '../../catalogue/rules/row-cursor.ts'
import { columns, fragment, sql } from '../../catalogue/rules/statement.ts'
import {
  type DeliveryRow,
  ENDED_DELIVERIES_KEPT,
  type SentDelivery,
  type WebhookRow,
  type WebhookStore,
} from './webhook-store.ts'

type State = Omit<DeliveryRow, 'attempts' | 'dueAt'>

const state = columns<State>({
  id: 'integer',
  accountId: 'text',
  webhookId: 'text',
  event: 'text',
  record: 'text',
  from: ['text', 'from_status'],
  createdAt: 'integer',
  isDelivered: ['flag', 'delivered'],
  lastStatus: 'integer',
  lastError: 'text',
  lastAt: 'integer',
})
const delivery = columns<DeliveryRow>({
  ...state.kinds,
  accountId: ['text', 'state.account_id'],
  attempts: ['integer', JOB.attempts],
  dueAt: ['integer', JOB.dueAt],
  lastError: ['text', 'state.last_error'],
})

/** Longer than any attempt. */
const LEASE_MS = 60_000
const STATES = withJob('deliveries', 'delivery')
const ENDED = fragment`
  FROM deliveries ${indexed('deliveries_ended')} WHERE webhook_id = :webhookId AND ${isSet('ended')}`

const PAGE = sql`
  SELECT ${delivery} FROM ${STATES} WHERE webhook_id = :webhookId AND id < :before ORDER BY id DESC LIMIT :rows`
const sent = columns<SentDelivery>({
  ...delivery.kinds,
  url: ['text', '(SELECT url FROM webhooks WHERE webhooks.id = state.webhook_id)'],
})
const RECENT = sql`SELECT ${sent} FROM ${STATES} WHERE id < :before ORDER BY id DESC LIMIT :rows`
const FAILED = sql`
  SELECT ${sent} FROM ${STATES} WHERE ${isSet('state.ended')} AND ${isUnset('state.delivered')} AND id < :before
  ORDER BY id DESC LIMIT :rows`
const REOPEN = sql<{ webhookId: string; accountId: string }>`
  UPDATE deliveries SET ended = FALSE, attempts = 0 WHERE id = :id AND ${isSet('ended')} AND ${isUnset('delivered')}
  RETURNING webhook_id AS "webhookId", account_id AS "accountId"`
const COUNT_REOPENED = sql`UPDATE webhooks SET waiting = waiting + 1 WHERE id = :webhookId`
const DUE = dueStates(delivery, 'deliveries')
const BEGIN = sql<State>`
  UPDATE deliveries SET created_at = COALESCE(created_at, :now) WHERE id = (
    SELECT id FROM deliveries WHERE id = :id AND NOT ended ${IF_UNLOCKED})
  RETURNING ${state}`
const END = sql<{ webhookId: string }>`
  UPDATE deliveries SET ended = TRUE, delivered = :isDelivered, last_status = :status, last_error = :error, last_at = :at,
    attempts = (SELECT attempts FROM jobs WHERE kind = 'delivery' AND key = :id)
  WHERE id = :id AND NOT ended RETURNING webhook_id AS "webhookId"`
const COUNT_ENDED = sql`UPDATE webhooks SET waiting = waiting - 1 WHERE id = :webhookId`
const FORGET = sql`DELETE ${ENDED} AND id <= (SELECT id ${ENDED} ORDER BY id DESC LIMIT 1 OFFSET :kept)`
const RETRY = sql`
  UPDATE deliveries SET last_status = :status, last_error = :error, last_at = :at WHERE id = :id AND NOT ended`

/** Skips jobs that another transaction has locked, so two nodes that postpone the same webhook never wait for each other. */
const POSTPONE = sql`
  UPDATE jobs SET due_at = :until WHERE kind = 'delivery' AND key ${among(fragment`
    SELECT key FROM jobs WHERE kind = 'delivery' AND due_at < :until
      AND key IN (SELECT id FROM deliveries WHERE webhook_id = :webhookId AND NOT ended) ${IF_UNLOCKED}`)}`

const ANY_NODE = ''

type DeliveryRules = Pick<
  WebhookStore,
  'deliveries' | 'recent' | 'resend' | 'due' | 'nextDue' | 'begin' | 'end' | 'retry' | 'postpone'
>

/** Returns the rules of deliveries. Triggers on `records` insert the deliveries. */
export function deliveryRules(
  driver: CatalogueDriver,
  node: string,
  webhookOf: (of: State) => Rule<WebhookRow | null>,
): DeliveryRules {
  const jobs = dueJobs(driver, 'delivery', node, DUE)
  const jobOf = (key: number) => ({ kind: 'delivery', key }) as const
  return {
    deliveries: (webhookId, request) => newestPage(place => driver.all(PAGE, { webhookId, ...place }), request),
    recent: (isFailed, request) => newestPage(place => driver.all(isFailed ? FAILED : RECENT, place), request),
    resend: (id, now) =>
      driver.transaction(function* () {
        const state = yield* first(REOPEN, { id })
        if (state === null) return false
        yield* run(COUNT_REOPENED, state)
        yield* enqueue({ ...jobOf(id), queue: ANY_NODE, accountId: state.accountId, dueAt: now, error: null })
        return true
      }),
    due: query => jobs.due(ANY_NODE, query),
    nextDue: () => jobs.nextDue(ANY_NODE),
    begin: (id, now) =>
      driver.transaction(
        function* () {
          const begun = yield* first(BEGIN, { id, now })
          const job = begun === null ? null : yield* beginJob(jobOf(id), { node, leaseMs: LEASE_MS })
          if (begun === null || job === null) return undefined
          const webhook = yield* webhookOf(begun)
          return webhook === null ? undefined : { delivery: { ...begun, ...job }, webhook }
        },
        { durable: false },
      ),
    end: (id, outcome) =>
      driver.transaction(function* () {
        const ended = yield* first(END, { id, ...outcome })
        if (ended === null) return
        yield* endJob(jobOf(id))
        yield* run(COUNT_ENDED, ended)
        yield* run(FORGET, { ...ended, kept: ENDED_DELIVERIES_KEPT })
      }),
    retry: (id, { dueAt, ...outcome }) =>
      driver.transaction(function* () {
        if ((yield* run(RETRY, { id, ...outcome })) > 0) yield* retryJob(jobOf(id), dueAt, null)
      }),
    postpone: async (webhookId, until) => {
      await driver.run(POSTPONE, { webhookId, until }, { durable: false })
    },
  }
}
