import type { Page, PageRequest } from './page.ts'

/** An address that is told of what becomes of an account's records. Times are milliseconds since the epoch. */
export interface WebhookRow {
  id: string
  accountId: string
  /** The key that made it, with which it goes; null if a session did. */
  keyId: string | null
  /** `http` or `https`. */
  url: string
  /** What deliveries are signed with, sealed: the store cannot read it. */
  secret: Uint8Array
  createdAt: number
  /** Deliveries that have not ended. */
  waiting: number
  /** Transitions that are not told, because too many waited. */
  dropped: number
}

/** One transition of a record, to be told to one address. */
export interface DeliveryRow {
  id: number
  accountId: string
  webhookId: string
  event: 'pin:created' | 'pin:status' | 'pin:removed'
  /** As it was then: JSON, with times as here. */
  record: string
  /** The status before; null but for `pin:status`. */
  from: string | null
  /** Null until the first attempt where nothing says when it was. */
  createdAt: number | null
  attempts: number
  /** When the next attempt is due; null once it has ended. */
  dueAt: number | null
  isDelivered: boolean
  /** Of the last attempt: the HTTP status, or why there was none, and when. */
  lastStatus: number | null
  lastError: string | null
  lastAt: number | null
}

/** How an attempt at a delivery has ended. */
export interface DeliveryOutcome {
  /** Of HTTP; null if there was no answer. */
  status: number | null
  /** Why there was none; null if there was. */
  error: string | null
  /** Milliseconds since the epoch. */
  at: number
}

/** How many deliveries that have ended are kept of each webhook, to be seen. */
export const ENDED_DELIVERIES_KEPT = 100

/**
 * Whom accounts have told of their records. A delivery is noted for each webhook of an account in the transaction that
 * creates, changes the status of, or removes one of its records. Each method is one transaction.
 */
export interface WebhookStore {
  /** `too_many`: the account has `most` of them. `no_key`: the key that makes it is gone. */
  insert(
    webhook: Omit<WebhookRow, 'waiting' | 'dropped'>,
    most: number,
  ): Promise<'inserted' | 'no_account' | 'no_key' | 'too_many'>
  get(accountId: string, id: string): Promise<WebhookRow | null>
  /** Oldest first. */
  list(accountId: string): Promise<WebhookRow[]>
  /** Its deliveries go with it. Returns whether it was there. */
  remove(accountId: string, id: string): Promise<boolean>
  /** Those of a webhook, the newest first. */
  deliveries(webhookId: string, request: PageRequest): Promise<Page<DeliveryRow>>

  /**
   * What is due: of some accounts, in the order of their ids from the one after `after` on, some each.
   *
   * @returns also the last account looked at; null once there is none beyond
   */
  due(query: { now: number; after: string; accounts: number; each: number }): Promise<{
    jobs: DeliveryRow[]
    last: string | null
  }>
  /** When the next attempt is due; null if none is. */
  nextDue(): Promise<number | null>
  /** Counts an attempt. Undefined if it has ended, or its webhook is gone. */
  begin(id: number, now: number): Promise<{ delivery: DeliveryRow; webhook: WebhookRow } | undefined>
  /** It is over; of those that are, {@link ENDED_DELIVERIES_KEPT} are kept. */
  end(id: number, outcome: DeliveryOutcome & { isDelivered: boolean }): Promise<void>
  /** Another attempt is due at `dueAt`, in milliseconds since the epoch. */
  retry(id: number, outcome: DeliveryOutcome & { dueAt: number }): Promise<void>
}
