import { LRUCache } from 'lru-cache'
import type { RequestWindows } from '../../catalogue/sign-in.ts'
import type { Clock } from '../../domain/clock.ts'
import type { RateLimit } from '../../domain/plan.ts'

/** Shares kept at a time; what has not been used for longest is forgotten first, and its requests are lost to the window. */
const MAX_SHARES = 50_000

/** Requests of one owner, by a key. */
export interface Bucket {
  key: string
  limit: RateLimit
}

/** What this node may let through of a window. Times are milliseconds since the epoch, on this node's clock. */
export interface Share {
  limit: RateLimit
  granted: number
  used: number
  /** That no node had been granted when this was. */
  left: number
  grantedAt: number
  endsAt: number
}

/**
 * What this node may let through of windows that it shares with others: it is granted a part of what is left, and asks
 * again when that is used up. So all nodes together never let through more than the limit. They let through less by what
 * others were granted and have not used, where a client goes from one to another within a window.
 */
export class RequestShares {
  readonly #windows: RequestWindows
  readonly #clock: Clock
  readonly #shares = new LRUCache<string, Share>({ max: MAX_SHARES })
  /** Grants under way, by key, which all requests of that key wait for. */
  readonly #asking = new Map<string, Promise<void>>()

  constructor(windows: RequestWindows, clock: Clock) {
    this.#windows = windows
    this.#clock = clock
  }

  /** Counts one request in each, or in none if one of them has no more. Returns the shares as they are then. */
  async take(buckets: readonly Bucket[]): Promise<Array<{ share: Share; allowed: boolean }>> {
    for (;;) {
      const unknown = buckets.filter(bucket => this.#needsMore(bucket))
      if (unknown.length > 0) {
        await this.#ask(unknown)
        continue
      }
      const found = buckets.map(bucket => this.#current(bucket))
      const shares = found.flatMap(share => share ?? [])
      // What has ended since it was looked at is asked for anew.
      if (shares.length < buckets.length) continue
      const taken = shares.map(share => ({ share, allowed: share.used < share.granted }))
      if (taken.every(({ allowed }) => allowed)) for (const { share } of taken) share.used++
      return taken
    }
  }

  /** The share of a running window, unless its limit has changed. */
  #current({ key, limit }: Bucket): Share | undefined {
    const share = this.#shares.get(key)
    const now = this.#clock.now()
    if (share?.limit.requests !== limit.requests || share.limit.windowSeconds !== limit.windowSeconds) return undefined
    // A share that was granted in the future means that the clock was set back.
    return share.grantedAt <= now && now < share.endsAt ? share : undefined
  }

  /** What was refused is not asked for again before the window ends. */
  #needsMore(bucket: Bucket): boolean {
    const share = this.#current(bucket)
    return share === undefined || (share.granted > 0 && share.used >= share.granted)
  }

  async #ask(buckets: readonly Bucket[]): Promise<void> {
    const under = buckets.flatMap(({ key }) => this.#asking.get(key) ?? [])
    if (under.length > 0) return void (await Promise.all(under))
    const asked = this.#grant(buckets).finally(() => {
      for (const { key } of buckets) this.#asking.delete(key)
    })
    for (const { key } of buckets) this.#asking.set(key, asked)
    await asked
  }

  async #grant(buckets: readonly Bucket[]): Promise<void> {
    // Windows are by the database's clock: asked before it said so, this node's end comes no later.
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

/** Returns what is left of a share whose limit has been raised. Of one that was lowered nothing is known to be left. */
function keptOf(share: Share | undefined, { requests, windowSeconds }: RateLimit, now: number): number {
  if (share === undefined || now < share.grantedAt || now >= share.endsAt) return 0
  const isLower = requests < share.limit.requests || windowSeconds < share.limit.windowSeconds
  return isLower ? 0 : share.granted - share.used
}
