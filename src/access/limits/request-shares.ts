import { LRUCache } from 'lru-cache'
import type { RequestWindows } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import type { RateLimit } from '../../domain/plan.ts'

/** Shares in memory. The cache evicts the least recently used, whose unused requests are lost until the window ends. */
const MAX_SHARES = 50_000

/** A rate limit, and the key of the credential or account that it applies to. */
export interface Bucket {
  key: string
  limit: RateLimit
}

/** This node's share of a window. Times are milliseconds since the epoch, by this node's clock. */
export interface Share {
  limit: RateLimit
  granted: number
  used: number
  /** Requests of the window not yet granted to any node. */
  left: number
  grantedAt: number
  endsAt: number
}

/**
 * This node's shares of windows that several nodes share. The catalogue grants a part of the requests left in a window,
 * and another part once the node has used that up. All nodes together never exceed the limit. They stay below it if a
 * client changes nodes within a window, by the requests granted to the other nodes and not used.
 */
export class RequestShares {
  readonly #windows: RequestWindows
  readonly #clock: Clock
  readonly #shares = new LRUCache<string, Share>({ max: MAX_SHARES })
  /** Running grants by key. All requests with that key wait for the same grant. */
  readonly #granting = new Map<string, Promise<void>>()

  constructor(windows: RequestWindows, clock: Clock) {
    this.#windows = windows
    this.#clock = clock
  }

  /** Counts one request in every bucket, or in none if a bucket is empty. Returns the shares afterwards. */
  async take(buckets: readonly Bucket[]): Promise<Array<{ share: Share; allowed: boolean }>> {
    for (;;) {
      const short = buckets.filter(bucket => this.#needsMore(bucket))
      if (short.length > 0) {
        await this.#refill(short)
        continue
      }
      const found = buckets.map(bucket => this.#current(bucket))
      const shares = found.flatMap(share => share ?? [])
      // A window may have ended since the check above.
      if (shares.length < buckets.length) continue
      const taken = shares.map(share => ({ share, allowed: share.used < share.granted }))
      if (taken.every(({ allowed }) => allowed)) for (const { share } of taken) share.used++
      return taken
    }
  }

  /** Returns the share of a running window. A changed limit ends the share. */
  #current({ key, limit }: Bucket): Share | undefined {
    const share = this.#shares.get(key)
    const now = this.#clock.now()
    if (share?.limit.requests !== limit.requests || share.limit.windowSeconds !== limit.windowSeconds) return undefined
    // A grant in the future means that the clock was set back.
    return share.grantedAt <= now && now < share.endsAt ? share : undefined
  }

  /** Returns false for a share of zero requests: the window is used up, so asking again before its end is useless. */
  #needsMore(bucket: Bucket): boolean {
    const share = this.#current(bucket)
    return share === undefined || (share.granted > 0 && share.used >= share.granted)
  }

  async #refill(buckets: readonly Bucket[]): Promise<void> {
    const running = buckets.flatMap(({ key }) => this.#granting.get(key) ?? [])
    if (running.length > 0) return void (await Promise.all(running))
    const granted = this.#grant(buckets).finally(() => {
      for (const { key } of buckets) this.#granting.delete(key)
    })
    for (const { key } of buckets) this.#granting.set(key, granted)
    await granted
  }

  async #grant(buckets: readonly Bucket[]): Promise<void> {
    // The database's clock runs the window. Counting its remaining time from before the query never ends it late.
    const askedAt = this.#clock.now()
    const shares = await this.#windows.grant(buckets)
    for (const [i, { key, limit }] of buckets.entries()) {
      const share = shares[i]
      if (share === undefined) continue
      const { granted, left, msLeft } = share
      const kept = keptOf(this.#shares.get(key), limit, askedAt)
      const endsAt = askedAt + Math.max(1, msLeft)
      this.#shares.set(key, { limit, granted: granted + kept, used: 0, left, grantedAt: askedAt, endsAt })
    }
  }
}

/** Returns the unused requests of a former share, which stay valid unless its limit was lowered. */
function keptOf(share: Share | undefined, { requests, windowSeconds }: RateLimit, now: number): number {
  if (share === undefined || now < share.grantedAt || now >= share.endsAt) return 0
  const isLower = requests < share.limit.requests || windowSeconds < share.limit.windowSeconds
  return isLower ? 0 : share.granted - share.used
}
