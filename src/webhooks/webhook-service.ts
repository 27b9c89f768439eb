import { randomBytes } from 'node:crypto'
import type { Page, PageRequest } from '../catalogue/page.ts'
import type { DeliveryRow, WebhookRow, WebhookStore } from '../catalogue/webhook-store.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Sealing } from '../domain/sealing.ts'
import { namesPrivateHost } from '../outgoing/public-lookup.ts'

/** Of one account. */
const MOST_WEBHOOKS = 10
const LONGEST_URL = 2_048
const SECRET_BYTES = 32

/** A webhook as its account sees it: without its secret. */
export type Webhook = Omit<WebhookRow, 'secret' | 'accountId' | 'keyId'>

export interface WebhookServiceParts {
  store: WebhookStore
  sealing: Sealing
  clock: Clock
  /** Whether addresses in private networks may be told. */
  allowPrivate: boolean
}

/** Addresses that accounts have told of what becomes of their records. */
export class WebhookService {
  readonly #parts: WebhookServiceParts

  constructor(parts: WebhookServiceParts) {
    this.#parts = parts
  }

  /**
   * @param made.keyId the key that makes it, with which it goes; null for a session
   * @returns also the secret that its deliveries are signed with, which is never to be had again
   * @throws HoldfastError `VALIDATION` naming `url`, `QUOTA_EXCEEDED` for the number of them, `NOT_FOUND` for an account
   * or key that is gone
   */
  async create(
    accountId: string,
    made: { url: string; keyId: string | null },
  ): Promise<{ webhook: Webhook; secret: string }> {
    const { store, sealing, clock } = this.#parts
    const url = this.#parseUrl(made.url)
    const id = randomBytes(9).toString('base64url')
    const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64url')}`
    const sealed = sealing.seal(Buffer.from(secret), sealingContext(id))
    const row = { id, accountId, keyId: made.keyId, url, secret: sealed, createdAt: clock.now() }
    const outcome = await store.insert(row, MOST_WEBHOOKS)
    if (outcome === 'too_many') {
      throw new HoldfastError('QUOTA_EXCEEDED', `an account has ${MOST_WEBHOOKS} webhooks at most`)
    }
    if (outcome !== 'inserted') throw new HoldfastError('NOT_FOUND', 'there is no such account or key any more')
    return { webhook: shown({ ...row, waiting: 0, dropped: 0 }), secret }
  }

  /** Oldest first. */
  async list(accountId: string): Promise<Webhook[]> {
    return (await this.#parts.store.list(accountId)).map(shown)
  }

  /** What has still to be told goes with it. @throws HoldfastError `NOT_FOUND` */
  async remove(accountId: string, id: string): Promise<void> {
    if (!(await this.#parts.store.remove(accountId, id))) throw notFound(id)
  }

  /** What was told, and has still to be, the newest first. @throws HoldfastError `NOT_FOUND` */
  async deliveries(accountId: string, id: string, request: PageRequest): Promise<Page<DeliveryRow>> {
    if ((await this.#parts.store.get(accountId, id)) === null) throw notFound(id)
    return this.#parts.store.deliveries(id, request)
  }

  #parseUrl(text: string): string {
    const fail = (problem: string): never => {
      throw new HoldfastError('VALIDATION', `url ${problem}`)
    }
    if (text.length > LONGEST_URL) return fail(`must not have more than ${LONGEST_URL} characters`)
    if (!URL.canParse(text)) return fail('must be a URL')
    const url = new URL(text)
    if (!/^https?:$/.test(url.protocol)) return fail('must begin with https:// or http://')
    if (url.username !== '' || url.password !== '') return fail('must not hold a name or password')
    if (url.hash !== '') return fail('must not have a fragment')
    if (!this.#parts.allowPrivate && namesPrivateHost(url)) return fail('must not lead to a private address')
    return url.href
  }
}

/** What a secret is sealed for. */
export function sealingContext(id: string): string {
  return `webhook ${id}`
}

function shown({ secret: _, accountId: __, keyId: ___, ...webhook }: WebhookRow): Webhook {
  return webhook
}

function notFound(id: string): HoldfastError {
  return new HoldfastError('NOT_FOUND', `there is no webhook ${id}`)
}
