import { LRUCache } from 'lru-cache'
import type { RequestWindows } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import { atMost } from '../../domain/lru.ts'
import type { RateLimit } from '../../domain/plan.ts'

/**
 * Above this number, the least recently used share is evicted, and its unused requests are lost until the window ends.
 */
const MAX_SHARES = 50_000

export interface Bucket {
  key: string
  limit: RateLimit
}

/** Part of a shared rate-limit window that this node may use. Times are in ms since the epoch by this node's clock. */
export interface Share {
  limit: RateLimit
  granted: number
  used: number
  /** Requests of the window that are not yet granted to any node. */
  left: number
  grantedAt: number
  endsAt: number
}

/**
 * The catalogue grants the node one part after another of the requests left in a window, so that all nodes together
 * never exceed the limit. If a client changes nodes within a window, unused requests of the first node are lost.
 */
export class RequestShares {
  readonly #windows: RequestWindows
  readonly #clock: Clock
  readonly #shares = new LRUCache<string, Share>(atMost(MAX_SHARES))
  /** Running requests for grants, by key. All requests with the same key wait for the same grant. */
  readonly #granting = new Map<string, Promise<void>>()

  constructor(windows: RequestWindows, clock: Clock) {
    this.#windows = windows
    this.#clock = clock
  }

  /** Counts one request in every bucket, or in none if any bucket is empty. Returns the resulting shares. */
  async take(buckets: readonly Bucket[]): Promise<Array<{ share: Share; allowed: boolean }>> {
    for (;;) {
      const short = buckets.filter(bucket => this.#needsMore(bucket))
      if (short.length > 0) {
        await this.#refill(short)
        continue
      }
      const found = buckets.map(bucket => this.#current(bucket))
      const shares = found.flatMap(share => share ?? [])
      if (shares.length < buckets.length) continue
      const taken = shares.map(share => ({ share, allowed: share.used < share.granted }))
      if (taken.every(({ allowed }) => allowed)) for (const { share } of taken) share.used++
      return taken
    }
  }

  /** Returns undefined if there is no share of a running window, or if the limit has changed. */
  #current({ key, limit }: Bucket): Share | undefined {
    const share = this.#shares.get(key)
    const now = this.#clock.now()
    if (share?.limit.requests !== limit.requests || share.limit.windowSeconds !== limit.windowSeconds) return undefined
    // If the grant is in the future, the clock was set back.
    return share.grantedAt <= now && now < share.endsAt ? share : undefined
  }

  /**
   * Returns whether the node needs another grant. After a grant of zero requests, the window is used up, so the node
   * waits for its end.
   */
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
    // The database's clock determines when the window ends. Counting the remaining time from before the query makes
    // sure that the local window never ends late.
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

/** Returns the unused requests, which remain valid unless the limit was lowered. */
function keptOf(share: Share | undefined, { requests, windowSeconds }: RateLimit, now: number): number {
  if (share === undefined || now < share.grantedAt || now >= share.endsAt) return 0
  const isLower = requests < share.limit.requests || windowSeconds < share.limit.windowSeconds
  return isLower ? 0 : share.granted - share.used
}
