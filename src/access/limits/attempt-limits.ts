import type { AttemptStore } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import type { HoldfastError } from '../../domain/errors.ts'
import type { RateLimit } from '../../domain/plan.ts'
import { rateLimitError } from './rate-limit-error.ts'

export interface AttemptLimitsOptions {
  store: AttemptStore
  clock: Clock
  limit: RateLimit
  /** Plural noun for the error message. Default `failed attempts`. */
  label?: string
}

/**
 * Rate limit for guesses of a secret. Counts an attempt before its result is known, so that concurrent guesses cannot
 * exceed the limit. After a correct attempt, the caller must call `release` or `clear`.
 */
export class AttemptLimits {
  readonly #options: AttemptLimitsOptions

  constructor(options: AttemptLimitsOptions) {
    this.#options = options
  }

  /** Counts an attempt and returns null. If the limit is reached, counts nothing and returns a `RATE_LIMIT` error. */
  async take(key: string): Promise<HoldfastError | null> {
    const { store, clock, limit, label = 'failed attempts' } = this.#options
    const { allowed, msLeft } = await store.take(key, limit)
    if (allowed) return null
    const retryAfter = Math.max(1, Math.ceil(msLeft / 1_000))
    return rateLimitError(limit, { retryAfter, resetAt: clock.now() + msLeft }, label)
  }

  release(key: string): Promise<void> {
    return this.#options.store.release(key)
  }

  clear(key: string): Promise<void> {
    return this.#options.store.clear(key)
  }
}
