import type { Static } from 'typebox'
import type * as deliveries from '../../src/features/webhooks/delivery-routes.ts'
import type * as webhooks from '../../src/features/webhooks/webhook-routes.ts'
import type { Page } from './account-answers.ts'
import { type Connection, pathPart } from './connection.ts'
import type { PageOptions } from './sessions.ts'

/** A webhook: a URL that receives the events of the account's records. */
export type Webhook = Static<typeof webhooks.WebhookView>
/** A newly created webhook. */
export type NewWebhook = Static<typeof webhooks.NewWebhookView>
/** Delivery of an event to a webhook, finished or pending. */
export type Delivery = Static<typeof webhooks.Delivery>
/** A webhook delivery of any account. */
export type OwnedDelivery = Static<typeof deliveries.OwnedDeliveryView>

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
