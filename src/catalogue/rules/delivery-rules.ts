import { type DeliveryRow, ENDED_DELIVERIES_KEPT, type WebhookRow, type WebhookStore } from '../webhook-store.ts'
import { either, IF_UNLOCKED, indexed } from './dialect.ts'
import { type CatalogueDriver, first, type Rule, run } from './driver.ts'
import { dueByAccount } from './due-by-account.ts'
import { columns, fragment, sql } from './statement.ts'

const delivery = columns<DeliveryRow>({
  id: 'integer',
  accountId: 'text',
  webhookId: 'text',
  event: 'text',
  record: 'text',
  from: ['text', 'from_status'],
  createdAt: 'integer',
  attempts: 'integer',
  dueAt: 'integer',
  isDelivered: ['flag', 'delivered'],
  lastStatus: 'integer',
  lastError: 'text',
  lastAt: 'integer',
})

/** In PostgreSQL a node leases what it attempts, for longer than an attempt takes. */
const LEASE = either('', `, leased_by = :node, leased_until = clock_timestamp() + INTERVAL '120 seconds'`)
const END_LEASE = either('', ', leased_until = NULL')
/** Deliveries that no other node attempts. */
const FREE = either('', 'AND (leased_until IS NULL OR leased_until < clock_timestamp() OR leased_by = :node)')
const ENDED = fragment`FROM deliveries ${indexed('deliveries_ended')} WHERE webhook_id = :webhookId AND due_at IS NULL`

const PAGE = sql`
  SELECT ${delivery} FROM deliveries ${indexed('deliveries_by_webhook')}
  WHERE webhook_id = :webhookId AND id < :before ORDER BY id DESC LIMIT :rows`
const NEXT_ACCOUNT = sql<{ accountId: string }>`
  SELECT account_id AS "accountId" FROM deliveries ${indexed('deliveries_by_account')}
  WHERE due_at IS NOT NULL AND account_id > :after ORDER BY account_id LIMIT 1`
const DUE = sql`
  SELECT ${delivery} FROM deliveries ${indexed('deliveries_by_account')}
  WHERE due_at IS NOT NULL AND account_id = :accountId AND due_at <= :now ${FREE} ORDER BY due_at, id LIMIT :each`
const NEXT_DUE = sql<{ at: number }>`
  SELECT due_at AS at FROM deliveries ${indexed('deliveries_by_time')}
  WHERE due_at IS NOT NULL ${FREE} ORDER BY due_at LIMIT 1`
const BEGIN = sql`
  UPDATE deliveries SET attempts = attempts + 1, created_at = COALESCE(created_at, :now)${LEASE}
  WHERE id = (SELECT id FROM deliveries WHERE id = :id AND due_at IS NOT NULL ${FREE} ${IF_UNLOCKED})
  RETURNING ${delivery}`
const END = sql<{ webhookId: string }>`
  UPDATE deliveries SET due_at = NULL${END_LEASE}, delivered = :isDelivered, last_status = :status,
    last_error = :error, last_at = :at
  WHERE id = :id AND due_at IS NOT NULL RETURNING webhook_id AS "webhookId"`
const COUNT_ENDED = sql`UPDATE webhooks SET waiting = waiting - 1 WHERE id = :webhookId`
const FORGET = sql`DELETE ${ENDED} AND id <= (SELECT id ${ENDED} ORDER BY id DESC LIMIT 1 OFFSET :kept)`
const RETRY = sql`
  UPDATE deliveries SET due_at = :dueAt${END_LEASE}, last_status = :status, last_error = :error, last_at = :at
  WHERE id = :id AND due_at IS NOT NULL`

type DeliveryRules = Pick<WebhookStore, 'deliveries' | 'due' | 'nextDue' | 'begin' | 'end' | 'retry'>

/**
 * The rules of deliveries; triggers on `records` write their rows.
 *
 * @param node the process that attempts them
 * @param webhookOf asks for the webhook of a delivery
 */
export function deliveryRules(
  driver: CatalogueDriver,
  node: string,
  webhookOf: (of: DeliveryRow) => Rule<WebhookRow | null>,
): DeliveryRules {
  return {
    deliveries: async (webhookId, { after, limit }) => {
      const before = after !== null && /^\d{1,15}$/.test(after) ? Number(after) : Number.MAX_SAFE_INTEGER
      const found = await driver.all(PAGE, { webhookId, before, rows: limit + 1 })
      const rows = found.slice(0, limit)
      return { rows, next: found.length > limit ? String(rows.at(-1)?.id) : null }
    },
    due: query =>
      dueByAccount(
        query,
        after => driver.first(NEXT_ACCOUNT, { after }),
        accountId => driver.all(DUE, { accountId, now: query.now, each: query.each, node }),
      ),
    nextDue: async () => (await driver.first(NEXT_DUE, { node }))?.at ?? null,
    begin: (id, now) =>
      driver.transaction(
        function* () {
          const begun = yield* first(BEGIN, { id, now, node })
          const webhook = begun === null ? null : yield* webhookOf(begun)
          return begun === null || webhook === null ? undefined : { delivery: begun, webhook }
        },
        { durable: false },
      ),
    end: (id, outcome) =>
      driver.transaction(function* () {
        const ended = yield* first(END, { id, ...outcome })
        if (ended === null) return
        yield* run(COUNT_ENDED, ended)
        yield* run(FORGET, { ...ended, kept: ENDED_DELIVERIES_KEPT })
      }),
    retry: async (id, outcome) => {
      await driver.run(RETRY, { id, ...outcome })
    },
  }
}
