import type { Delivery, NewWebhook, Page, Webhook } from './account-answers.ts'
import { type Connection, pathPart } from './connection.ts'
import type { PageOptions } from './sessions.ts'

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
  async deliveries(id: string, { after, limit, signal }: PageOptions = {}): Promise<Page<Delivery>> {
    const path = `/webhooks/${pathPart(id, 'the id')}/deliveries`
    const query = { after, limit: limit?.toString() }
    const answer = await this.#connection.json<{ deliveries: Delivery[]; next: string | null }>('GET', path, {
      query,
      signal,
    })
    return { rows: answer.deliveries, next: answer.next }
  }
}
