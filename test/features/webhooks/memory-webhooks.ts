import {
  type DeliveryRow,
  ENDED_DELIVERIES_KEPT,
  type RecordRow,
  type WebhookRow,
  type WebhookStore,
} from '../../../src/catalogue/index.ts'
import type { AccessBeside } from '../../catalogue/memory-access.ts'
import type { RecordEvent, RecordFollower } from '../../catalogue/memory-content.ts'

/** Maximum number of waiting deliveries per webhook. */
const MOST_WAITING = 1_000

/** Webhooks and their deliveries, as lists that each query scans. */
export class WebhookRows implements RecordFollower {
  webhooks: WebhookRow[] = []
  deliveries: DeliveryRow[] = []
  #made = 0

  drop(isGone: (webhook: WebhookRow) => boolean): boolean {
    const gone = new Set(this.webhooks.filter(isGone).map(({ id }) => id))
    this.webhooks = this.webhooks.filter(({ id }) => !gone.has(id))
    this.deliveries = this.deliveries.filter(({ webhookId }) => !gone.has(webhookId))
    return gone.size > 0
  }

  keysGone(ids: ReadonlySet<string>): void {
    this.drop(({ keyId }) => keyId !== null && ids.has(keyId))
  }

  purge(accountId: string): boolean {
    return this.drop(webhook => webhook.accountId === accountId)
  }

  save(): () => void {
    const before = { webhooks: this.webhooks.map(webhook => ({ ...webhook })), deliveries: [...this.deliveries] }
    return () => void Object.assign(this, before)
  }

  /** Adds a delivery of an event for each webhook of the account. */
  note(event: RecordEvent, row: RecordRow, { from, at }: { from: string | null; at: number | null }): void {
    const { id: uploadId, cid, clusterId, type, size, status, statusReason: reason, expiresAt, createdAt } = row
    const name = row.customName ?? row.originalName ?? row.name ?? row.cid
    const meta: unknown = row.meta === null ? {} : JSON.parse(row.meta)
    const told = { uploadId, cid, clusterId, type, name, size, status, reason, expiresAt, createdAt, meta }
    const record = JSON.stringify(told)
    for (const webhook of this.webhooks.filter(({ accountId }) => accountId === row.accountId)) {
      if (webhook.waiting >= MOST_WAITING) {
        webhook.dropped++
        continue
      }
      webhook.waiting++
      this.deliveries.push({
        ...{ id: ++this.#made, accountId: row.accountId, webhookId: webhook.id, event, record, from, createdAt: at },
        ...{ attempts: 0, dueAt: 0, isDelivered: false, lastStatus: null, lastError: null, lastAt: null },
      })
    }
  }
}

export function memoryWebhooks(all: WebhookRows, access: AccessBeside): WebhookStore {
  const open = (): Array<DeliveryRow & { dueAt: number }> =>
    all.deliveries.flatMap(row => (row.dueAt === null ? [] : { ...row, dueAt: row.dueAt }))
  const waiting = (id: number): DeliveryRow | undefined =>
    all.deliveries.find(row => row.id === id && row.dueAt !== null)
  return {
    async insert(webhook, most) {
      if (access.account(webhook.accountId) === undefined) return 'no_account'
      if (webhook.keyId !== null && !access.hasKey(webhook.keyId, webhook.accountId)) return 'no_key'
      if (all.webhooks.filter(({ accountId }) => accountId === webhook.accountId).length >= most) return 'too_many'
      all.webhooks.push({ ...webhook, waiting: 0, dropped: 0 })
      return 'inserted'
    },
    get: async (accountId, id) =>
      all.webhooks.find(webhook => webhook.id === id && webhook.accountId === accountId) ?? null,
    list: async accountId => all.webhooks.filter(webhook => webhook.accountId === accountId),
    remove: async (accountId, id) => all.drop(webhook => webhook.id === id && webhook.accountId === accountId),
    async deliveries(webhookId, { after, limit }) {
      const before = after === null ? Number.POSITIVE_INFINITY : Number(after)
      const rows = all.deliveries.filter(row => row.webhookId === webhookId && row.id < before).toReversed()
      const shown = rows.slice(0, limit)
      return { rows: shown, next: rows.length > limit ? String(shown.at(-1)?.id) : null }
    },
    async recent(isFailed, { after, limit }) {
      const before = after === null ? Number.POSITIVE_INFINITY : Number(after)
      const rows = all.deliveries
        .filter(row => row.id < before && (!isFailed || (row.dueAt === null && !row.isDelivered)))
        .toSorted((a, b) => b.id - a.id)
      const shown = rows.slice(0, limit).map(row => {
        return { ...row, url: all.webhooks.find(({ id }) => id === row.webhookId)?.url ?? '' }
      })
      return { rows: shown, next: rows.length > limit ? String(shown.at(-1)?.id) : null }
    },
    async resend(id, now) {
      const row = all.deliveries.find(one => one.id === id && one.dueAt === null && !one.isDelivered)
      const webhook = all.webhooks.find(one => one.id === row?.webhookId)
      if (row === undefined || webhook === undefined) return false
      Object.assign(row, { dueAt: now, attempts: 0 })
      webhook.waiting++
      return true
    },
    async due({ now, after, accounts, each }) {
      const rows = open().toSorted((a, b) => a.dueAt - b.dueAt)
      const names = [...new Set(rows.map(({ accountId }) => accountId))].filter(name => name > after).sort()
      const asked = names.slice(0, accounts)
      const dueOf = (name: string): DeliveryRow[] =>
        rows.filter(({ accountId, dueAt }) => accountId === name && dueAt <= now).slice(0, each)
      return { jobs: asked.flatMap(dueOf), last: asked.length < accounts ? null : (asked.at(-1) ?? null) }
    },
    nextDue: async () => open().reduce<number | null>((at, { dueAt }) => Math.min(at ?? dueAt, dueAt), null),
    async begin(id, now) {
      const row = waiting(id)
      const webhook = all.webhooks.find(one => one.id === row?.webhookId)
      if (row === undefined || webhook === undefined) return undefined
      row.attempts++
      row.createdAt ??= now
      return { delivery: { ...row }, webhook: { ...webhook } }
    },
    async end(id, { status, error, at, isDelivered }) {
      const row = waiting(id)
      const webhook = all.webhooks.find(one => one.id === row?.webhookId)
      if (row === undefined || webhook === undefined) return
      Object.assign(row, { dueAt: null, isDelivered, lastStatus: status, lastError: error, lastAt: at })
      webhook.waiting--
      const ended = all.deliveries.filter(other => other.webhookId === webhook.id && other.dueAt === null)
      const surplus = new Set(ended.slice(0, Math.max(0, ended.length - ENDED_DELIVERIES_KEPT)))
      all.deliveries = all.deliveries.filter(other => !surplus.has(other))
    },
    async retry(id, { status, error, at, dueAt }) {
      const row = waiting(id)
      if (row !== undefined) Object.assign(row, { dueAt, lastStatus: status, lastError: error, lastAt: at })
    },
    async postpone(webhookId, until) {
      for (const row of all.deliveries) {
        if (row.webhookId === webhookId && row.dueAt !== null) row.dueAt = Math.max(row.dueAt, until)
      }
    },
  }
}
