import type { AttemptStore } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import type { HoldfastError } from '../../domain/errors.ts'
import type { RateLimit } from '../../domain/plan.ts'
import { rateLimitError } from './rate-limit-error.ts'

export interface AttemptLimitsOptions {
  store: AttemptStore
  clock: Clock
  limit: RateLimit
  /** What they are, for the message of a refusal. Default: failed attempts. */
  what?: string
}

/**
 * How often a secret may be guessed at. An attempt counts before it is known to be wrong, so that many at once get no
 * further than one after the other; one that turns out right is taken back.
 */
export class AttemptLimits {
  readonly #options: AttemptLimitsOptions

  constructor(options: AttemptLimitsOptions) {
    this.#options = options
  }

  /** Counts an attempt. Null if it may be made, otherwise the `RATE_LIMIT` to refuse it with; it has not counted then. */
  async take(key: string): Promise<HoldfastError | null> {
    const { store, clock, limit, what = 'failed attempts' } = this.#options
    const { allowed, msLeft } = await store.take(key, limit)
    if (allowed) return null
    const retryAfter = Math.max(1, Math.ceil(msLeft / 1_000))
    return rateLimitError(limit, { retryAfter, resetAt: clock.now() + msLeft }, what)
  }

  /** Takes one attempt back. */
  release(key: string): Promise<void> {
    return this.#options.store.release(key)
  }

  /** Forgets all attempts: whoever made the last one has shown to know the secret. */
  clear(key: string): Promise<void> {
    return this.#options.store.clear(key)
  }
}
