import { HoldfastError } from '../../domain/errors.ts'
import type { RateLimit } from '../../domain/plan.ts'
import type { RateDecision } from '../../domain/rate-limiter.ts'

/** `RATE_LIMIT` with what a client needs to know to try again at the right time. */
export function rateLimitError(
  limit: RateLimit,
  { retryAfter, resetAt }: Pick<RateDecision, 'retryAfter' | 'resetAt'>,
  what: string,
): HoldfastError {
  const unit = retryAfter === 1 ? 'second' : 'seconds'
  return new HoldfastError('RATE_LIMIT', `too many ${what}, try again in ${retryAfter} ${unit}`, {
    details: { retryAfter, limit: limit.requests, remaining: 0, resetTime: new Date(resetAt).toISOString() },
  })
}
