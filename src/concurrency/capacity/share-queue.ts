interface Share<T> {
  /** Cost so far. After idle time, the cost starts at that of the owner served last, so idle time earns no credit. */
  used: number
  readonly items: Set<T>
}

/**
 * Weighted fair queue. Serves the owner with the lowest cost so far, and the items of one owner in order. Owners with
 * equal cost take turns. When the queue is empty, it forgets all costs.
 */
export class ShareQueue<T> {
  readonly #shares = new Map<string, Share<T>>()
  /** Cost of the owner served last. A new owner starts with this cost. */
  #level = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  add(owner: string, item: T): void {
    const share = this.#shares.get(owner) ?? { used: 0, items: new Set() }
    if (share.items.size === 0) share.used = Math.max(share.used, this.#level)
    share.items.add(item)
    this.#shares.set(owner, share)
    this.#size++
  }

  /** Does nothing if the item is not in the queue. */
  remove(owner: string, item: T): void {
    if (this.#shares.get(owner)?.items.delete(item) !== true) return
    this.#size--
    this.#forget()
  }

  /** Removes and returns the next item. The caller then passes the item's cost to {@link charge}. */
  take(): { owner: string; item: T } | null {
    let least: { owner: string; share: Share<T>; item: T } | null = null
    for (const [owner, share] of this.#shares) {
      const [item] = share.items
      if (item === undefined) {
        if (share.used <= this.#level) this.#shares.delete(owner)
      } else if (least === null || share.used < least.share.used) least = { owner, share, item }
    }
    if (least === null) return null
    const { owner, share, item } = least
    this.#level = share.used
    share.items.delete(item)
    this.#size--
    // Move the owner to the end, so that owners with equal cost take turns.
    this.#shares.delete(owner)
    this.#shares.set(owner, share)
    return { owner, item }
  }

  charge(owner: string, cost: number): void {
    const share = this.#shares.get(owner)
    if (share !== undefined) share.used += cost
    this.#forget()
  }

  #forget(): void {
    if (this.#size > 0) return
    this.#shares.clear()
    this.#level = 0
  }
}
