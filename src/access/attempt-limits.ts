import { LRUCache } from 'lru-cache'
import type { Clock } from '../domain/clock.ts'
import type { HoldfastError } from '../domain/errors.ts'
import type { RateLimit } from '../domain/plan.ts'
import { rateLimitError } from './rate-limit-error.ts'
import { type RateDecision, RateLimiter, type RateWindow } from './rate-limiter.ts'

/** Windows kept at a time; what has not been used for longest is forgotten first. */
const MAX_WINDOWS = 50_000

/**
 * How often a secret may be guessed at, in memory. An attempt counts before it is known to be wrong, so that many at
 * once get no further than one after the other; one that turns out right is taken back.
 */
export class AttemptLimits {
  readonly #limiter = new RateLimiter()
  readonly #windows = new LRUCache<string, RateWindow>({ max: MAX_WINDOWS })
  readonly #clock: Clock
  readonly #limit: RateLimit
  readonly #what: string

  /** `what` they are, for the message of a refusal. */
  constructor(clock: Clock, limit: RateLimit, what = 'failed attempts') {
    this.#clock = clock
    this.#limit = limit
    this.#what = what
  }

  /** Counts an attempt. Null if it may be made, otherwise the `RATE_LIMIT` to refuse it with; it has not counted then. */
  take(key: string): HoldfastError | null {
    const decision = this.#decide(key)
    if (!decision.allowed) return rateLimitError(this.#limit, decision, this.#what)
    this.#windows.set(key, decision.state)
    return null
  }

  /** Takes one attempt back. */
  release(key: string): void {
    const window = this.#windows.get(key)
    if (window !== undefined) this.#windows.set(key, { ...window, used: Math.max(0, window.used - 1) })
  }

  /** Forgets all attempts: whoever made the last one has shown to know the secret. */
  clear(key: string): void {
    this.#windows.delete(key)
  }

  #decide(key: string): RateDecision {
    return this.#limiter.decide(this.#windows.get(key) ?? null, this.#limit, this.#clock.now())
  }
}
