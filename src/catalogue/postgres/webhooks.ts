import type { Page, PageRequest } from '../page.ts'
import {
  type DeliveryOutcome,
  type DeliveryRow,
  ENDED_DELIVERIES_KEPT,
  type WebhookRow,
  type WebhookStore,
} from '../webhooks.ts'
import { lockedAccount } from './accounts.ts'
import { dueByAccount } from './due-by-account.ts'
import { free } from './leased.ts'
import type { Postgres } from './postgres.ts'

type NewWebhook = Omit<WebhookRow, 'waiting' | 'dropped'>

const COLUMNS = `id, account_id AS "accountId", key_id AS "keyId", url, secret, created_at AS "createdAt", waiting, dropped`
const DELIVERY = `id, account_id AS "accountId", webhook_id AS "webhookId", event, record, from_status AS "from",
  created_at AS "createdAt", attempts, due_at AS "dueAt", delivered AS "isDelivered", last_status AS "lastStatus",
  last_error AS "lastError", last_at AS "lastAt"`
/** Longer than an attempt takes: afterwards its node is taken for gone. */
const LEASE = `INTERVAL '120 seconds'`

/** The rows of `webhooks` and `deliveries`; triggers on `records` write the latter. */
export class PostgresWebhooks implements WebhookStore {
  readonly #database: Postgres
  readonly #node: string

  /** @param node by which this process is known to others at work on the same catalogue */
  constructor(database: Postgres, node: string) {
    this.#database = database
    this.#node = node
  }

  insert(webhook: NewWebhook, most: number): ReturnType<WebhookStore['insert']> {
    const { id, accountId, keyId, url, secret, createdAt } = webhook
    return this.#database.transaction(async sql => {
      if ((await lockedAccount(sql, accountId)) === null) return 'no_account'
      const known = 'SELECT 1 FROM api_keys WHERE id = $1 AND account_id = $2 FOR KEY SHARE'
      if (keyId !== null && (await sql.first(known, [keyId, accountId])) === undefined) return 'no_key'
      const there = 'SELECT id FROM webhooks WHERE account_id = $1 LIMIT $2'
      if ((await sql.all(there, [accountId, most])).length >= most) return 'too_many'
      await sql.run(
        'INSERT INTO webhooks (id, account_id, key_id, url, secret, created_at) VALUES ($1, $2, $3, $4, $5, $6)',
        [id, accountId, keyId, url, secret, createdAt],
      )
      return 'inserted'
    }, accountId)
  }

  async get(accountId: string, id: string): Promise<WebhookRow | null> {
    const text = `SELECT ${COLUMNS} FROM webhooks WHERE id = $1 AND account_id = $2`
    return (await this.#database.reading.first<WebhookRow>(text, [id, accountId])) ?? null
  }

  list(accountId: string): Promise<WebhookRow[]> {
    const text = `SELECT ${COLUMNS} FROM webhooks WHERE account_id = $1 ORDER BY created_at`
    return this.#database.reading.all<WebhookRow>(text, [accountId])
  }

  async remove(accountId: string, id: string): Promise<boolean> {
    const text = 'DELETE FROM webhooks WHERE id = $1 AND account_id = $2'
    return (await this.#database.command(text, [id, accountId])) > 0
  }

  async deliveries(webhookId: string, { after, limit }: PageRequest): Promise<Page<DeliveryRow>> {
    const before = after !== null && /^\d{1,15}$/.test(after) ? Number(after) : Number.MAX_SAFE_INTEGER
    const rows = await this.#database.reading.all<DeliveryRow>(
      `SELECT ${DELIVERY} FROM deliveries WHERE webhook_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
      [webhookId, before, limit + 1],
    )
    const shown = rows.slice(0, limit)
    return { rows: shown, next: rows.length > limit ? String(shown.at(-1)?.id) : null }
  }

  async due(query: { now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: DeliveryRow[]
    last: string | null
  }> {
    const { reading } = this.#database
    const next = `SELECT account_id AS "accountId" FROM deliveries WHERE due_at IS NOT NULL AND account_id > $1
         ORDER BY account_id LIMIT 1`
    const due = `SELECT ${DELIVERY} FROM deliveries WHERE due_at IS NOT NULL AND account_id = $1 AND due_at <= $2 AND ${free('$4')}
         ORDER BY due_at, id LIMIT $3`
    return dueByAccount(
      query,
      after => reading.first<{ accountId: string }>(next, [after]),
      account => reading.all<DeliveryRow>(due, [account, query.now, query.each, this.#node]),
    )
  }

  async nextDue(): Promise<number | null> {
    const text = `SELECT due_at AS at FROM deliveries WHERE due_at IS NOT NULL AND ${free('$1')} ORDER BY due_at LIMIT 1`
    return (await this.#database.reading.first<{ at: number }>(text, [this.#node]))?.at ?? null
  }

  /** Undefined also while another node is at it. */
  begin(id: number, now: number): ReturnType<WebhookStore['begin']> {
    return this.#database.transaction(async sql => {
      const delivery = await sql.first<DeliveryRow>(
        `UPDATE deliveries SET attempts = attempts + 1, created_at = COALESCE(created_at, $2),
           leased_by = $3, leased_until = clock_timestamp() + ${LEASE}
         WHERE id = (
           SELECT id FROM deliveries WHERE id = $1 AND due_at IS NOT NULL AND ${free('$3')} FOR UPDATE SKIP LOCKED)
         RETURNING ${DELIVERY}`,
        [id, now, this.#node],
      )
      if (delivery === undefined) return undefined
      const text = `SELECT ${COLUMNS} FROM webhooks WHERE id = $1`
      const webhook = await sql.first<WebhookRow>(text, [delivery.webhookId])
      return webhook && { delivery, webhook }
    })
  }

  end(id: number, { status, error, at, isDelivered }: DeliveryOutcome & { isDelivered: boolean }): Promise<void> {
    return this.#database.transaction(async sql => {
      const ended = await sql.first<{ webhookId: string }>(
        `UPDATE deliveries SET due_at = NULL, leased_until = NULL, delivered = $2, last_status = $3, last_error = $4,
           last_at = $5
         WHERE id = $1 AND due_at IS NOT NULL RETURNING webhook_id AS "webhookId"`,
        [id, isDelivered, status, error, at],
      )
      if (ended === undefined) return
      await sql.run('UPDATE webhooks SET waiting = waiting - 1 WHERE id = $1', [ended.webhookId])
      await sql.run(
        `DELETE FROM deliveries WHERE webhook_id = $1 AND due_at IS NULL AND id <= (
           SELECT id FROM deliveries WHERE webhook_id = $1 AND due_at IS NULL ORDER BY id DESC LIMIT 1 OFFSET $2)`,
        [ended.webhookId, ENDED_DELIVERIES_KEPT],
      )
    })
  }

  async retry(id: number, { status, error, at, dueAt }: DeliveryOutcome & { dueAt: number }): Promise<void> {
    await this.#database.command(
      `UPDATE deliveries SET due_at = $2, leased_until = NULL, last_status = $3, last_error = $4, last_at = $5
       WHERE id = $1 AND due_at IS NOT NULL`,
      [id, dueAt, status, error, at],
    )
  }
}
