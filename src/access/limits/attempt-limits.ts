import type { AttemptStore } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import type { HoldfastError } from '../../domain/errors.ts'
import type { RateLimit } from '../../domain/plan.ts'
import { rateLimitError } from './rate-limit-error.ts'

export interface AttemptLimitsOptions {
  store: AttemptStore
  clock: Clock
  limit: RateLimit
  /** Plural noun for the attempts, in the message of a refusal. Default `failed attempts`. */
  label?: string
}

/**
 * A rate limit on guesses of a secret. An attempt counts before its result is known, so concurrent guesses cannot
 * exceed the limit. The caller releases or clears a correct attempt.
 */
export class AttemptLimits {
  readonly #options: AttemptLimitsOptions

  constructor(options: AttemptLimitsOptions) {
    this.#options = options
  }

  /** Counts an attempt and returns null. At the limit counts nothing and returns the `RATE_LIMIT` error. */
  async take(key: string): Promise<HoldfastError | null> {
    const { store, clock, limit, label = 'failed attempts' } = this.#options
    const { allowed, msLeft } = await store.take(key, limit)
    if (allowed) return null
    const retryAfter = Math.max(1, Math.ceil(msLeft / 1_000))
    return rateLimitError(limit, { retryAfter, resetAt: clock.now() + msLeft }, label)
  }

  /** Uncounts one attempt. */
  release(key: string): Promise<void> {
    return this.#options.store.release(key)
  }

  /** Resets the count after a correct attempt. */
  clear(key: string): Promise<void> {
    return this.#options.store.clear(key)
  }
}
