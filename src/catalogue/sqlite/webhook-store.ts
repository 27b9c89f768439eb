import type { Database, Statement } from '../../storage/database.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { Page, PageRequest } from '../page.ts'
import {
  type DeliveryOutcome,
  type DeliveryRow,
  ENDED_DELIVERIES_KEPT,
  type WebhookRow,
  type WebhookStore,
} from '../webhooks.ts'

type NewWebhook = Omit<WebhookRow, 'waiting' | 'dropped'>
type RawDelivery = Omit<DeliveryRow, 'isDelivered'> & { delivered: number }

const COLUMNS = `id, account_id AS accountId, key_id AS keyId, url, secret, created_at AS createdAt, waiting, dropped`
const DELIVERY = `id, account_id AS accountId, webhook_id AS webhookId, event, record, from_status AS "from",
  created_at AS createdAt, attempts, due_at AS dueAt, delivered, last_status AS lastStatus, last_error AS lastError,
  last_at AS lastAt`

/** The rows of `webhooks` and `deliveries`; triggers on `records` write the latter. */
export class SqliteWebhooks implements WebhookStore {
  readonly #writes: WriteQueue
  readonly #hasAccount: Statement<[string], unknown>
  readonly #hasKey: Statement<[string, string], unknown>
  readonly #insert: Statement<[string, string, string | null, string, Uint8Array, number], unknown>
  readonly #get: Statement<[string, string], WebhookRow>
  readonly #list: Statement<[string], WebhookRow>
  readonly #remove: Statement<[string, string], unknown>
  readonly #page: Statement<[string, number, number], RawDelivery>
  readonly #accountAfter: Statement<[string], { accountId: string | null }>
  readonly #dueOf: Statement<[string, number, number], RawDelivery>
  readonly #nextDue: Statement<[], { at: number | null }>
  readonly #begin: Statement<[number, number], unknown>
  readonly #delivery: Statement<[number], RawDelivery>
  readonly #end: Statement<[number, number | null, string | null, number, number], unknown>
  readonly #ended: Statement<[string], unknown>
  readonly #forget: Statement<[string, string, number], unknown>
  readonly #retry: Statement<[number, number | null, string | null, number, number], unknown>

  constructor(db: Database, writes: WriteQueue) {
    this.#writes = writes
    this.#hasAccount = db.prepare('SELECT 1 FROM accounts WHERE id = ? AND deleted_at IS NULL')
    this.#hasKey = db.prepare('SELECT 1 FROM api_keys WHERE id = ? AND account_id = ?')
    this.#insert = db.prepare(
      'INSERT INTO webhooks (id, account_id, key_id, url, secret, created_at) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#get = db.prepare(`SELECT ${COLUMNS} FROM webhooks WHERE id = ? AND account_id = ?`)
    this.#list = db.prepare(`SELECT ${COLUMNS} FROM webhooks WHERE account_id = ? ORDER BY created_at`)
    this.#remove = db.prepare('DELETE FROM webhooks WHERE id = ? AND account_id = ?')
    this.#page = db.prepare(`
      SELECT ${DELIVERY} FROM deliveries INDEXED BY deliveries_by_webhook
      WHERE webhook_id = ? AND id < ? ORDER BY id DESC LIMIT ?`)
    this.#accountAfter = db.prepare(`
      SELECT MIN(account_id) AS accountId FROM deliveries INDEXED BY deliveries_by_account
      WHERE due_at IS NOT NULL AND account_id > ?`)
    this.#dueOf = db.prepare(`
      SELECT ${DELIVERY} FROM deliveries INDEXED BY deliveries_by_account
      WHERE due_at IS NOT NULL AND account_id = ? AND due_at <= ? ORDER BY due_at LIMIT ?`)
    this.#nextDue = db.prepare(`
      SELECT MIN(due_at) AS at FROM deliveries INDEXED BY deliveries_by_time WHERE due_at IS NOT NULL`)
    this.#begin = db.prepare(`
      UPDATE deliveries SET attempts = attempts + 1, created_at = COALESCE(created_at, ?)
      WHERE id = ? AND due_at IS NOT NULL`)
    this.#delivery = db.prepare(`SELECT ${DELIVERY} FROM deliveries WHERE id = ?`)
    this.#end = db.prepare(`
      UPDATE deliveries SET due_at = NULL, delivered = ?, last_status = ?, last_error = ?, last_at = ? WHERE id = ?`)
    this.#ended = db.prepare('UPDATE webhooks SET waiting = waiting - 1 WHERE id = ?')
    this.#forget = db.prepare(`
      DELETE FROM deliveries WHERE id IN (
        SELECT id FROM deliveries INDEXED BY deliveries_ended WHERE webhook_id = ? AND due_at IS NULL AND id <= (
          SELECT id FROM deliveries INDEXED BY deliveries_ended
          WHERE webhook_id = ? AND due_at IS NULL ORDER BY id DESC LIMIT 1 OFFSET ?))`)
    this.#retry = db.prepare(`
      UPDATE deliveries SET due_at = ?, last_status = ?, last_error = ?, last_at = ? WHERE id = ?`)
  }

  insert(webhook: NewWebhook, most: number): ReturnType<WebhookStore['insert']> {
    return this.#write(() => {
      const { id, accountId, keyId, url, secret, createdAt } = webhook
      if (this.#hasAccount.get(accountId) === undefined) return 'no_account'
      if (keyId !== null && this.#hasKey.get(keyId, accountId) === undefined) return 'no_key'
      if (this.#list.all(accountId).length >= most) return 'too_many'
      this.#insert.run(id, accountId, keyId, url, secret, createdAt)
      return 'inserted'
    })
  }

  async get(accountId: string, id: string): Promise<WebhookRow | null> {
    return this.#get.get(id, accountId) ?? null
  }

  async list(accountId: string): Promise<WebhookRow[]> {
    return this.#list.all(accountId)
  }

  remove(accountId: string, id: string): Promise<boolean> {
    return this.#write(() => this.#remove.run(id, accountId).changes > 0)
  }

  async deliveries(webhookId: string, { after, limit }: PageRequest): Promise<Page<DeliveryRow>> {
    const before = after !== null && /^\d{1,15}$/.test(after) ? Number(after) : Number.MAX_SAFE_INTEGER
    const rows = this.#page.all(webhookId, before, limit + 1).map(toRow)
    const shown = rows.slice(0, limit)
    return { rows: shown, next: rows.length > limit ? String(shown.at(-1)?.id) : null }
  }

  async due(query: { now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: DeliveryRow[]
    last: string | null
  }> {
    const jobs: DeliveryRow[] = []
    let last: string | null = query.after
    for (let looked = 0; looked < query.accounts; looked++) {
      last = this.#accountAfter.get(last)?.accountId ?? null
      if (last === null) break
      jobs.push(...this.#dueOf.all(last, query.now, query.each).map(toRow))
    }
    return { jobs, last }
  }

  async nextDue(): Promise<number | null> {
    return this.#nextDue.get()?.at ?? null
  }

  begin(id: number, now: number): ReturnType<WebhookStore['begin']> {
    const work = () => {
      if (this.#begin.run(now, id).changes === 0) return undefined
      const row = this.#delivery.get(id)
      const webhook = row && this.#get.get(row.webhookId, row.accountId)
      return row && webhook && { delivery: toRow(row), webhook }
    }
    return this.#writes.run(work, { durable: false })
  }

  end(id: number, { status, error, at, isDelivered }: DeliveryOutcome & { isDelivered: boolean }): Promise<void> {
    return this.#write(() => {
      const row = this.#delivery.get(id)
      if (row === undefined || row.dueAt === null) return
      this.#end.run(isDelivered ? 1 : 0, status, error, at, id)
      this.#ended.run(row.webhookId)
      this.#forget.run(row.webhookId, row.webhookId, ENDED_DELIVERIES_KEPT)
    })
  }

  retry(id: number, { status, error, at, dueAt }: DeliveryOutcome & { dueAt: number }): Promise<void> {
    return this.#write(() => {
      this.#retry.run(dueAt, status, error, at, id)
    })
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#writes.run(work, { durable: true })
  }
}

function toRow({ delivered, ...row }: RawDelivery): DeliveryRow {
  return { ...row, isDelivered: delivered === 1 }
}
