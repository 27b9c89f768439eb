import { LRUCache } from 'lru-cache'
import type { RequestWindows } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import { atMost } from '../../domain/lru.ts'
import type { RateLimit } from '../../domain/plan.ts'
import { decideInWindow, type KeptWindow, type RateDecision } from '../../domain/rate-limiter.ts'
import type { Principal } from '../principal.ts'
import { clientOf } from './network-address.ts'
import { rateLimitError } from './rate-limit-error.ts'
import { type Bucket, RequestShares } from './request-shares.ts'

export interface RateStatus {
  limit: number
  remaining: number
  /** In ms since the epoch. */
  resetAt: number
}

export interface RequestLimitsOptions {
  clock: Clock
  /**
   * Limit on this node for requests from one address that are malformed or lack a valid credential. Default: 300 a
   * minute.
   */
  failures?: RateLimit
  /** Default: this node has its own windows. */
  shared?: RequestWindows | undefined
}

/** Allows for many clients behind one proxy. The limit need not prevent guessing, because a key has 256 bits. */
const DEFAULT_FAILURES: RateLimit = { requests: 300, windowSeconds: 60 }

/** Above this number, the least recently used window is evicted. */
const MAX_WINDOWS = 50_000

type Decision = Pick<RateDecision, 'allowed' | 'remaining' | 'resetAt' | 'retryAfter'>
type Taken = Bucket & { decision: Decision }

export class RequestLimits {
  readonly #windows = new LRUCache<string, KeptWindow>(atMost(MAX_WINDOWS))
  readonly #clock: Clock
  readonly #failures: RateLimit
  readonly #shares: RequestShares | null

  constructor({ clock, failures = DEFAULT_FAILURES, shared }: RequestLimitsOptions) {
    this.#clock = clock
    this.#failures = failures
    this.#shares = shared === undefined ? null : new RequestShares(shared, clock)
  }

  /**
   * Counts one request against the limits of the credential and of its account. Returns the state of the tighter limit,
   * or null if the plan sets no limit.
   * @throws HoldfastError `RATE_LIMIT` if either limit is reached, in which case neither limit counts the request;
   * `UNAVAILABLE` if shared windows cannot be read
   */
  take(principal: Principal): RateStatus | null | Promise<RateStatus | null> {
    const { plan, credential, account } = principal
    const buckets: Bucket[] = []
    if (plan.rateLimit) buckets.push({ key: `credential ${credential.id}`, limit: plan.rateLimit })
    if (plan.accountRateLimit) buckets.push({ key: `account ${account.id}`, limit: plan.accountRateLimit })
    return this.#shares === null || buckets.length === 0 ? this.#take(buckets) : this.#takeShared(this.#shares, buckets)
  }

  /**
   * Counts a request that is malformed or lacks a valid credential. Clients with unknown addresses have no limit,
   * because they would all share one.
   * @throws HoldfastError `RATE_LIMIT` if the limit of the address is reached
   */
  takeFailure(remoteAddress: string | undefined): void {
    if (remoteAddress === undefined) return
    this.#take([{ key: `address ${clientOf(remoteAddress)}`, limit: this.#failures }])
  }

  #take(buckets: readonly Bucket[]): RateStatus | null {
    const now = this.#clock.now()
    const decided = buckets.map(bucket => {
      const kept = this.#windows.get(bucket.key) ?? null
      return { ...bucket, decision: decideInWindow(kept, bucket.limit, now) }
    })
    const status = statusOf(decided)
    for (const { key, decision } of decided) {
      this.#windows.set(key, { endsAt: decision.resetAt, used: decision.state.used })
    }
    return status
  }

  async #takeShared(shares: RequestShares, buckets: readonly Bucket[]): Promise<RateStatus | null> {
    const taken = await shares.take(buckets)
    const now = this.#clock.now()
    return statusOf(
      taken.map(({ share, allowed }, i) => {
        const { granted, used, left, endsAt: resetAt } = share
        const retryAfter = Math.max(1, Math.ceil((resetAt - now) / 1_000))
        const bucket = buckets[i] as Bucket
        return { ...bucket, decision: { allowed, remaining: left + granted - used, resetAt, retryAfter } }
      }),
    )
  }
}

function statusOf(taken: readonly Taken[]): RateStatus | null {
  const byTight = [...taken].sort(byTightness)
  const refusing = byTight.find(({ decision }) => !decision.allowed)
  if (refusing !== undefined) throw rateLimitError(refusing.limit, refusing.decision, 'requests')
  const [tightest] = byTight
  if (tightest === undefined) return null
  const { limit, decision } = tightest
  return { limit: limit.requests, remaining: decision.remaining, resetAt: decision.resetAt }
}

function byTightness(a: Taken, b: Taken): number {
  return a.decision.remaining - b.decision.remaining || b.decision.resetAt - a.decision.resetAt
}
