import { LRUCache } from 'lru-cache'
import type { AttemptDecision, AttemptStore } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import { atMost } from '../../domain/lru.ts'
import type { RateLimit } from '../../domain/plan.ts'
import { decideInWindow, type KeptWindow } from '../../domain/rate-limiter.ts'

/** Above this number, the least recently used window is evicted. */
const MAX_WINDOWS = 50_000

/** Counts in memory, so a restart resets the counts. */
export class MemoryAttempts implements AttemptStore {
  readonly #windows = new LRUCache<string, KeptWindow>(atMost(MAX_WINDOWS))
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async take(key: string, limit: RateLimit): Promise<AttemptDecision> {
    const now = this.#clock.now()
    const { allowed, state, resetAt } = decideInWindow(this.#windows.get(key) ?? null, limit, now)
    if (allowed) this.#windows.set(key, { endsAt: resetAt, used: state.used })
    return { allowed, msLeft: resetAt - now }
  }

  async release(key: string): Promise<void> {
    const window = this.#windows.get(key)
    if (window !== undefined) this.#windows.set(key, { ...window, used: Math.max(0, window.used - 1) })
  }

  async clear(key: string): Promise<void> {
    this.#windows.delete(key)
  }
}
