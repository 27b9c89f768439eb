import { randomBytes } from 'node:crypto'
import type { Page, PageRequest } from '../../catalogue/page.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Sealing } from '../../domain/sealing.ts'
import { namesPrivateHost } from '../../outgoing/public-lookup.ts'
import type { DeliveryRow, WebhookRow, WebhookStore } from './webhook-store.ts'

const MOST_WEBHOOKS = 10
const LONGEST_URL = 2_048
const SECRET_BYTES = 32

/** A webhook as the API returns it, without its secret. */
export type Webhook = Omit<WebhookRow, 'secret' | 'accountId' | 'keyId'>

export interface WebhookServiceParts {
  store: WebhookStore
  sealing: Sealing
  clock: Clock
  /** True if webhooks may have URLs with private addresses. */
  allowPrivate: boolean
  /** Called when a delivery is due. */
  wake: () => void
}

/** Manages webhooks, each of which receives the events of all records of its account. */
export class WebhookService {
  readonly #parts: WebhookServiceParts

  constructor(parts: WebhookServiceParts) {
    this.#parts = parts
  }

  /**
   * @param made.keyId API key that creates the webhook, or null for a session; revoking the key removes the webhook
   * @returns the webhook, and its signing secret, which cannot be read again
   * @throws HoldfastError `VALIDATION` if the URL is invalid; `QUOTA_EXCEEDED` after ten webhooks; `NOT_FOUND` if the
   * account or key no longer exists
   */
  async create(
    accountId: string,
    made: { url: string; keyId: string | null },
  ): Promise<{ webhook: Webhook; secret: string }> {
    const { store, sealing, clock } = this.#parts
    const url = this.#parseUrl(made.url)
    // In base64url, one id of 64 would begin with a hyphen, and a command would take it for a flag.
    const id = randomBytes(9).toString('hex')
    const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64url')}`
    const sealed = sealing.seal(Buffer.from(secret), sealingContext(id))
    const row = { id, accountId, keyId: made.keyId, url, secret: sealed, createdAt: clock.now() }
    const outcome = await store.insert(row, MOST_WEBHOOKS)
    if (outcome === 'too_many') {
      throw new HoldfastError('QUOTA_EXCEEDED', `the account already has ${MOST_WEBHOOKS} webhooks: remove one`)
    }
    if (outcome !== 'inserted') throw new HoldfastError('NOT_FOUND', 'the account or key no longer exists')
    return { webhook: withoutSecret({ ...row, waiting: 0, dropped: 0 }), secret }
  }

  /** Lists webhooks, oldest first. */
  async list(accountId: string): Promise<Webhook[]> {
    return (await this.#parts.store.list(accountId)).map(withoutSecret)
  }

  /**
   * Removes a webhook and its pending deliveries.
   *
   * @throws HoldfastError `NOT_FOUND` if the account has no such webhook
   */
  async remove(accountId: string, id: string): Promise<void> {
    if (!(await this.#parts.store.remove(accountId, id))) throw notFound(id)
  }

  /**
   * Lists sent and pending deliveries, newest first.
   *
   * @throws HoldfastError `NOT_FOUND` if the account has no such webhook
   */
  async deliveries(accountId: string, id: string, request: PageRequest): Promise<Page<DeliveryRow>> {
    if ((await this.#parts.store.get(accountId, id)) === null) throw notFound(id)
    return this.#parts.store.deliveries(id, request)
  }

  /**
   * Lists deliveries of all accounts, newest first, each with the host of its URL. The URL itself may have a secret.
   * @param isFailed true for the deliveries that have ended without success
   */
  async recent(isFailed: boolean, request: PageRequest): Promise<Page<DeliveryRow & { host: string }>> {
    const { rows, next } = await this.#parts.store.recent(isFailed, request)
    return { rows: rows.map(({ url, ...row }) => ({ ...row, host: URL.parse(url)?.host ?? '' })), next }
  }

  /** Sends a failed delivery again. @throws HoldfastError `NOT_FOUND` if there is no such failed delivery */
  async resend(id: string): Promise<void> {
    const { store, clock, wake } = this.#parts
    const isKnown = /^\d{1,15}$/.test(id) && (await store.resend(Number(id), clock.now()))
    if (!isKnown) throw new HoldfastError('NOT_FOUND', 'there is no failed delivery with this id')
    wake()
  }

  #parseUrl(text: string): string {
    const fail = (problem: string): never => {
      throw new HoldfastError('VALIDATION', `url ${problem}`)
    }
    if (text.length > LONGEST_URL) return fail(`must not have more than ${LONGEST_URL} characters`)
    if (!URL.canParse(text)) return fail('must be a URL such as https://app.example.org/pins')
    const url = new URL(text)
    if (!/^https?:$/.test(url.protocol)) return fail('must begin with https:// or http://')
    if (url.username !== '' || url.password !== '') return fail('must not contain a user name or password')
    if (url.hash !== '') return fail('must not have a fragment')
    if (!this.#parts.allowPrivate && namesPrivateHost(url)) {
      return fail('must not lead to a private address, unless the node sets webhooks.allowPrivate')
    }
    return url.href
  }
}

/** Returns the encryption context of a webhook's secret. */
export function sealingContext(id: string): string {
  return `webhook ${id}`
}

function withoutSecret({ secret: _, accountId: __, keyId: ___, ...webhook }: WebhookRow): Webhook {
  return webhook
}

function notFound(id: string): HoldfastError {
  return new HoldfastError('NOT_FOUND', `there is no webhook ${id}`)
}
