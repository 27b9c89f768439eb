import type { Page } from './account-answers.ts'
import { type Connection, pathPart } from './connection.ts'
import type { PageOptions } from './sessions.ts'

/** A webhook: a URL that receives the events of the account's records. */
export interface Webhook {
  id: string
  url: string
  createdAt: string
  waiting: number
  /** Events dropped because too many deliveries were waiting. */
  dropped: number
}

/** A newly created webhook. */
export interface NewWebhook extends Webhook {
  /** Signs the deliveries. No other response contains this secret. */
  secret: string
}

/** Delivery of an event to a webhook, finished or pending. */
export interface Delivery {
  id: string
  event: 'pin:created' | 'pin:status' | 'pin:removed'
  uploadId: string
  state: 'waiting' | 'delivered' | 'failed'
  at: string | null
  attempts: number
  nextAttemptAt: string | null
  lastAttemptAt: string | null
  lastStatus: number | null
  lastError: string | null
}

/** A webhook delivery of any account. */
export interface OwnedDelivery extends Delivery {
  /** Id of the account. */
  account: string
  /** Host of the webhook's URL. */
  host: string
}

/** Webhooks of the account. */
export class Webhooks {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Creates a webhook. Only this response contains the secret that signs the deliveries.
   *
   * @throws HoldfastError `VALIDATION` for a URL that is not allowed, `QUOTA_EXCEEDED`, `missing_scope` without
   * `files:read` and `files:write`
   * @example const { id, secret } = await client.webhooks.create('https://app.example.org/pins')
   */
  create(url: string): Promise<NewWebhook> {
    return this.#connection.json('POST', '/webhooks', { json: { url } })
  }

  /**
   * Lists the webhooks, oldest first.
   * @throws HoldfastError `missing_scope` if the key lacks `files:read`
   * @example const waiting = (await client.webhooks.list()).filter(({ waiting }) => waiting > 0)
   */
  async list(signal?: AbortSignal): Promise<Webhook[]> {
    return (await this.#connection.json<{ webhooks: Webhook[] }>('GET', '/webhooks', { signal })).webhooks
  }

  /**
   * Deletes a webhook.
   * @throws HoldfastError `NOT_FOUND`, `missing_scope` if the key lacks `files:write`
   * @example await client.webhooks.remove(id)
   */
  async remove(id: string): Promise<void> {
    await this.#connection.json('DELETE', `/webhooks/${pathPart(id, 'the id')}`)
  }

  /**
   * Returns a page of a webhook's deliveries, newest first.
   * @throws HoldfastError `NOT_FOUND`
   * @example const { rows } = await client.webhooks.deliveries(id)
   */
  async deliveries(id: string, options: PageOptions = {}): Promise<Page<Delivery>> {
    return this.#connection.page(`/webhooks/${pathPart(id, 'the id')}/deliveries`, 'deliveries', options)
  }
}
