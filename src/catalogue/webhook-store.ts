import type { Page, PageRequest } from './page.ts'

/** A webhook: a URL that receives the events of an account's records. Times are milliseconds since the epoch. */
export interface WebhookRow {
  id: string
  accountId: string
  /** The key that created the webhook; deleting the key deletes the webhook. Null if a session created it. */
  keyId: string | null
  /** `http` or `https`. */
  url: string
  /** The sealed signing secret, which the store cannot read. */
  secret: Uint8Array
  createdAt: number
  /** Number of deliveries that have not ended. */
  waiting: number
  /** Number of events dropped because too many deliveries were waiting. */
  dropped: number
}

/** One event of a record, to be sent to one webhook. */
export interface DeliveryRow {
  id: number
  accountId: string
  webhookId: string
  event: 'pin:created' | 'pin:status' | 'pin:removed'
  /** The record at the time of the event, as JSON. Its times are milliseconds since the epoch. */
  record: string
  /** The previous status; null for events other than `pin:status`. */
  from: string | null
  /** Null before the first attempt if the time of the event is unknown. */
  createdAt: number | null
  attempts: number
  /** When the next attempt is due; null once the delivery has ended. */
  dueAt: number | null
  isDelivered: boolean
  /** HTTP status of the last attempt, or its error, and its time. */
  lastStatus: number | null
  lastError: string | null
  lastAt: number | null
}

/** The outcome of an attempt at a delivery. */
export interface DeliveryOutcome {
  /** HTTP status; null without an answer. */
  status: number | null
  /** Why there was no answer; null if there was one. */
  error: string | null
  /** Milliseconds since the epoch. */
  at: number
}

/** Number of ended deliveries kept per webhook, for display. */
export const ENDED_DELIVERIES_KEPT = 100

/**
 * Webhooks and their deliveries. Creating or removing a record, or changing its status, adds a delivery for each
 * webhook of the account in the same transaction. Each method is one transaction.
 */
export interface WebhookStore {
  /**
   * Inserts a webhook. `too_many`: the account has `most` of them already. `no_key`: the key that creates it is gone.
   */
  insert(
    webhook: Omit<WebhookRow, 'waiting' | 'dropped'>,
    most: number,
  ): Promise<'inserted' | 'no_account' | 'no_key' | 'too_many'>
  get(accountId: string, id: string): Promise<WebhookRow | null>
  /** Lists the webhooks of an account, oldest first. */
  list(accountId: string): Promise<WebhookRow[]>
  /** Removes a webhook and its deliveries. Returns whether it existed. */
  remove(accountId: string, id: string): Promise<boolean>
  /** Lists the deliveries of a webhook, newest first. */
  deliveries(webhookId: string, request: PageRequest): Promise<Page<DeliveryRow>>

  /** Reads due deliveries; see `Fetches.due`. */
  due(query: { now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: DeliveryRow[]
    last: string | null
  }>
  /** Returns when the next attempt is due; null if none is. */
  nextDue(): Promise<number | null>
  /** Counts an attempt. Returns undefined if the delivery has ended or its webhook is gone. */
  begin(id: number, now: number): Promise<{ delivery: DeliveryRow; webhook: WebhookRow } | undefined>
  /** Ends a delivery. Only the newest {@link ENDED_DELIVERIES_KEPT} ended deliveries of a webhook are kept. */
  end(id: number, outcome: DeliveryOutcome & { isDelivered: boolean }): Promise<void>
  /** Schedules another attempt at `dueAt`, in milliseconds since the epoch. */
  retry(id: number, outcome: DeliveryOutcome & { dueAt: number }): Promise<void>
}
