import { within } from '../../concurrency/deadline.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { Metrics } from '../../domain/metrics.ts'
import type { Sealing } from '../../domain/sealing.ts'
import { VERSION } from '../../domain/version.ts'
import { type Attempt, type JobKind, JobRunner } from '../../jobs/job-runner.ts'
import { deliveryBody, SIGNATURE_HEADER, signatureOf } from './delivery-body.ts'
import type { WebhookSender } from './webhook-sender.ts'
import { sealingContext } from './webhook-service.ts'
import type { DeliveryRow, WebhookRow, WebhookStore } from './webhook-store.ts'

/** The limit per account ensures that slow receivers of one account do not block other accounts. */
const DELIVERIES_AT_ONCE = 64
const PER_ACCOUNT = 2
const ACCOUNTS_AT_ONCE = 64
const FIRST_RETRY_MS = 10_000
const LONGEST_RETRY_MS = 21_600_000
/** With backoff, the last attempt is about a day after the first. */
const MOST_ATTEMPTS = 16
/** After this time, a request is aborted. */
const LONGEST_MS = 10_000
const FULL_MS = 10_000

export interface WebhookRunnerParts {
  store: WebhookStore
  sealing: Sealing
  sender: WebhookSender
  clock: Clock
  logger: Logger
  metrics?: Pick<Metrics, 'finished'>
}

/** Creates the runner that sends the events of records to webhooks, until the receiver responds with a 2xx status. */
export function webhookRunner(parts: WebhookRunnerParts): JobRunner<DeliveryRow, Delivery> {
  return new JobRunner(deliveries(parts), parts)
}

class Delivery implements Attempt<DeliveryRow> {
  readonly job: DeliveryRow
  readonly #parts: WebhookRunnerParts
  readonly #abort = new AbortController()
  /** Null until the attempt begins. */
  webhook: WebhookRow | null = null
  /** HTTP status of the receiver's response. */
  status: number | null = null

  constructor(job: DeliveryRow, parts: WebhookRunnerParts) {
    this.job = job
    this.#parts = parts
  }

  abort(reason: HoldfastError): void {
    this.#abort.abort(reason)
  }

  async run(begun: DeliveryRow): Promise<void> {
    const { store, sealing, sender, clock } = this.#parts
    if (this.webhook === null) throw new HoldfastError('INTERNAL_ERROR', 'the delivery has no webhook')
    const { id, url, secret } = this.webhook
    const body = deliveryBody(begun)
    const key = Buffer.from(sealing.open(secret, sealingContext(id))).toString()
    const headers = {
      'content-type': 'application/json',
      'user-agent': `Holdfast/${VERSION}`,
      'holdfast-delivery': String(begun.id),
      [SIGNATURE_HEADER]: signatureOf(body, key, clock.now()),
    }
    const late = (): HoldfastError => new HoldfastError('ABORTED', 'the receiver did not answer in time')
    const status = await within({ clock, ms: LONGEST_MS, late, signal: this.#abort.signal }, signal => {
      return sender.send({ url, headers, body, signal })
    })
    this.status = status
    if (status < 200 || status > 299) throw new HoldfastError('UNAVAILABLE', refusalOf(status))
    await store.end(begun.id, { status, error: null, at: clock.now(), isDelivered: true })
  }
}

function deliveries(parts: WebhookRunnerParts): JobKind<DeliveryRow, Delivery> {
  const { store, clock, logger } = parts
  return {
    name: 'webhooks',
    pauses: { firstMs: FIRST_RETRY_MS, longestMs: LONGEST_RETRY_MS },
    batch: { accounts: ACCOUNTS_AT_ONCE, each: PER_ACCOUNT },
    perAccount: PER_ACCOUNT,
    fullMs: FULL_MS,
    due: query => store.due(query),
    nextDue: () => store.nextDue(),
    isFull: running => [...running].length >= DELIVERIES_AT_ONCE,
    attempt: row => new Delivery(row, parts),
    begin: async attempt => {
      const begun = await store.begin(attempt.job.id, clock.now())
      attempt.webhook = begun?.webhook ?? null
      return begun?.delivery
    },
    failed: async ({ status }, { id, webhookId, attempts }, { error: cause, retryAt: dueAt }) => {
      const error = isHoldfastError(cause) ? cause.message : 'the delivery failed'
      if (!isHoldfastError(cause))
        logger.error({ err: cause, webhook: webhookId }, 'a webhook delivery failed unexpectedly')
      else if (status === null) logger.info({ err: cause.cause ?? cause, webhook: webhookId }, 'cannot reach a webhook')
      const outcome = { status, error, at: clock.now() }
      // Without this, a webhook that hangs would take the account's turns for each event that waits for it.
      if (status === null) await store.postpone(webhookId, outcome.at + FIRST_RETRY_MS)
      if (attempts >= MOST_ATTEMPTS) await store.end(id, { ...outcome, isDelivered: false })
      else await store.retry(id, { ...outcome, dueAt })
    },
    trace: {
      kind: 'webhook delivery',
      // The URL may contain a secret.
      facts: ({ status }, { id, webhookId, attempts }) => ({
        delivery: id,
        webhook: webhookId,
        attempt: attempts,
        ...(status !== null && { status }),
      }),
    },
  }
}

function refusalOf(status: number): string {
  if (status < 200 || status > 399) return `the receiver answered ${status}`
  return `the receiver answered ${status}: redirects are not followed`
}
