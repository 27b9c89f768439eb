import { HoldfastError } from '../../domain/errors.ts'
import type { RateLimit } from '../../domain/plan.ts'
import type { RateDecision } from '../../domain/rate-limiter.ts'

/**
 * Returns a `RATE_LIMIT` error. Its details tell the client when to retry.
 * @param label plural noun for the limited actions, such as `requests`
 */
export function rateLimitError(
  limit: RateLimit,
  { retryAfter, resetAt }: Pick<RateDecision, 'retryAfter' | 'resetAt'>,
  label: string,
): HoldfastError {
  const unit = retryAfter === 1 ? 'second' : 'seconds'
  return new HoldfastError('RATE_LIMIT', `too many ${label}, try again in ${retryAfter} ${unit}`, {
    details: { retryAfter, limit: limit.requests, remaining: 0, resetTime: new Date(resetAt).toISOString() },
  })
}
