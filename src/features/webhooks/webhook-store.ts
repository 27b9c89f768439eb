import type { Page, PageRequest } from '../../catalogue/page.ts'

/** A webhook: a URL that receives the events of an account's records. Times are milliseconds since the epoch. */
export interface WebhookRow {
  id: string
  accountId: string
  /** Id of the key that created the webhook; null for a session. Deleting the key deletes the webhook. */
  keyId: string | null
  /** Starts with `http:` or `https:`. */
  url: string
  /** The sealed signing secret, which the store cannot read. */
  secret: Uint8Array
  createdAt: number
  /** Number of deliveries that have not ended. */
  waiting: number
  /** Number of events dropped because too many deliveries were waiting. */
  dropped: number
}

/** One event of a record, for delivery to one webhook. */
export interface DeliveryRow {
  id: number
  accountId: string
  webhookId: string
  event: 'pin:created' | 'pin:status' | 'pin:removed'
  /** The record at the time of the event, as JSON. Its times are milliseconds since the epoch. */
  record: string
  /** The previous status; null unless the event is `pin:status`. */
  from: string | null
  /** When the event happened. If this is unknown, the time of the first attempt; null before the first attempt. */
  createdAt: number | null
  attempts: number
  /** When the next attempt is due; null once the delivery has ended. */
  dueAt: number | null
  isDelivered: boolean
  /** Null if there was no response. */
  lastStatus: number | null
  lastError: string | null
  lastAt: number | null
}

/** A delivery, with the URL of its webhook. */
export interface SentDelivery extends DeliveryRow {
  url: string
}

/** The outcome of an attempt at a delivery. */
export interface DeliveryOutcome {
  /** Null if there was no response. */
  status: number | null
  /** Null if there was a response. */
  error: string | null
  /** In milliseconds since the epoch. */
  at: number
}

/** Maximum number of ended deliveries kept per webhook, for display. */
export const ENDED_DELIVERIES_KEPT = 100

/**
 * Webhooks and their deliveries. Each method is one transaction.
 * The transaction that creates or removes a record, or changes its status, adds a delivery for each webhook of the
 * account.
 */
export interface WebhookStore {
  /**
   * Returns `too_many` if the account already has `most` webhooks, and `no_key` if the key `keyId` no longer exists.
   */
  insert(
    webhook: Omit<WebhookRow, 'waiting' | 'dropped'>,
    most: number,
  ): Promise<'inserted' | 'no_account' | 'no_key' | 'too_many'>
  get(accountId: string, id: string): Promise<WebhookRow | null>
  /** Lists the webhooks of an account, oldest first. */
  list(accountId: string): Promise<WebhookRow[]>
  /** Returns whether the webhook existed. */
  remove(accountId: string, id: string): Promise<boolean>
  /** Lists deliveries, newest first. */
  deliveries(webhookId: string, request: PageRequest): Promise<Page<DeliveryRow>>
  /**
   * Lists deliveries of all accounts, newest first.
   * @param isFailed true for the deliveries that have ended without success
   */
  recent(isFailed: boolean, request: PageRequest): Promise<Page<SentDelivery>>
  /** Makes a failed delivery due again, with all its attempts. Returns false if there is no such failed delivery. */
  resend(id: number, now: number): Promise<boolean>

  /** Returns due deliveries. The fields are as in `Fetches.due`. */
  due(query: { now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: DeliveryRow[]
    last: string | null
  }>
  nextDue(): Promise<number | null>
  /** Counts an attempt. Returns undefined if the delivery has ended or its webhook no longer exists. */
  begin(id: number, now: number): Promise<{ delivery: DeliveryRow; webhook: WebhookRow } | undefined>
  /** Ends a delivery. Removes the oldest ended deliveries of the webhook beyond {@link ENDED_DELIVERIES_KEPT}. */
  end(id: number, outcome: DeliveryOutcome & { isDelivered: boolean }): Promise<void>
  retry(id: number, outcome: DeliveryOutcome & { dueAt: number }): Promise<void>
  /** Makes the waiting deliveries of a webhook due at `until` at the earliest. Later events are due at once. */
  postpone(webhookId: string, until: number): Promise<void>
}
