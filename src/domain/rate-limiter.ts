import type { RateLimit } from './plan.ts'

/** A window that is running: when it began and what it has let through. Times are milliseconds since the epoch. */
export interface RateWindow {
  readonly startedAt: number
  readonly used: number
}

/** A window between two requests. The end that a client has heard stays, even if the limit gets another length meanwhile. */
export interface KeptWindow {
  readonly endsAt: number
  readonly used: number
}

/** The answer to one request, and how many more pass. */
export interface RateDecision {
  allowed: boolean
  /** The window after this decision; what the next one starts from. */
  state: RateWindow
  /** Requests left in the window. */
  remaining: number
  /** When the window ends. */
  resetAt: number
  /** Whole seconds until then, at least 1. */
  retryAfter: number
}

/**
 * Fixed windows that begin with their first request: no more than `requests` of them pass until the window ends.
 * A refused request does not count, so a client that waits until then is served.
 */
export class RateLimiter {
  /** Pure. Without a state, or when its window has ended, a new window begins now. */
  decide(state: RateWindow | null, limit: RateLimit, now: number): RateDecision {
    const windowMs = limit.windowSeconds * 1_000
    // A window that begins in the future means that the clock was set back; keeping it could refuse for hours.
    const running = state !== null && state.startedAt <= now && now < state.startedAt + windowMs
    const window = running ? state : { startedAt: now, used: 0 }
    const allowed = window.used < limit.requests
    const used = allowed ? window.used + 1 : window.used
    const resetAt = window.startedAt + windowMs
    return {
      allowed,
      state: { startedAt: window.startedAt, used },
      remaining: Math.max(0, limit.requests - used),
      resetAt,
      retryAfter: Math.max(1, Math.ceil((resetAt - now) / 1_000)),
    }
  }
}

const LIMITER = new RateLimiter()

/** Returns the decision about a request, by the window that its client is in; null for none. */
export function decideInWindow(kept: KeptWindow | null, limit: RateLimit, now: number): RateDecision {
  const state = kept && { startedAt: kept.endsAt - limit.windowSeconds * 1_000, used: kept.used }
  return LIMITER.decide(state, limit, now)
}
