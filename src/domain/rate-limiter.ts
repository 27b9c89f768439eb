import type { RateLimit } from './plan.ts'

/** A window in progress. `startedAt` is in ms since the epoch, and `used` counts the allowed requests. */
export interface RateWindow {
  readonly startedAt: number
  readonly used: number
}

/**
 * A window as stored between two requests. It stores the end that the client knows from a response, so that a change of
 * the limit's length does not move the end.
 */
export interface KeptWindow {
  readonly endsAt: number
  readonly used: number
}

/** The decision about one request. */
export interface RateDecision {
  allowed: boolean
  /** The window after this decision. Pass it to the next call. */
  state: RateWindow
  remaining: number
  /** In ms since the epoch. */
  resetAt: number
  /** Whole seconds, at least 1. */
  retryAfter: number
}

/**
 * Rate limiter with fixed windows. A window starts at its first request and allows `requests` until it ends. Rejected
 * requests do not count, so a client that waits `retryAfter` seconds succeeds.
 */
export class RateLimiter {
  /** Has no side effects. If no window is in progress, starts a new one. */
  decide(state: RateWindow | null, limit: RateLimit, now: number): RateDecision {
    const windowMs = limit.windowSeconds * 1_000
    // A start in the future means that the clock was set back. Keeping this window could reject requests for hours.
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

export function decideInWindow(kept: KeptWindow | null, limit: RateLimit, now: number): RateDecision {
  const state = kept && { startedAt: kept.endsAt - limit.windowSeconds * 1_000, used: kept.used }
  return LIMITER.decide(state, limit, now)
}
