import type { RateLimit } from './plan.ts'

/** A running window: its start in milliseconds since the epoch, and the requests it has allowed. */
export interface RateWindow {
  readonly startedAt: number
  readonly used: number
}

/** A window between two requests. It keeps the end that a client has seen, even if the limit gets another length. */
export interface KeptWindow {
  readonly endsAt: number
  readonly used: number
}

/** The decision on one request. */
export interface RateDecision {
  allowed: boolean
  /** The window after this decision, for the next call. */
  state: RateWindow
  /** Requests left in the window. */
  remaining: number
  /** End of the window, in milliseconds since the epoch. */
  resetAt: number
  /** Whole seconds until `resetAt`, at least 1. */
  retryAfter: number
}

/**
 * Fixed windows. A window begins with its first request and allows `requests` until it ends. Refused requests do not
 * count, so a client that waits `retryAfter` seconds is served.
 */
export class RateLimiter {
  /** Decides without side effects. Without a running window, begins a new one at `now`. */
  decide(state: RateWindow | null, limit: RateLimit, now: number): RateDecision {
    const windowMs = limit.windowSeconds * 1_000
    // A start in the future means that the clock was set back. Keeping that window could refuse requests for hours.
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

/** Decides on a request in its client's window. Null begins a new window. */
export function decideInWindow(kept: KeptWindow | null, limit: RateLimit, now: number): RateDecision {
  const state = kept && { startedAt: kept.endsAt - limit.windowSeconds * 1_000, used: kept.used }
  return LIMITER.decide(state, limit, now)
}
