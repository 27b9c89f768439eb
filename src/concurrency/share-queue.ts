interface Share<T> {
  /** Cost so far; at least that of the owner served last, so that idle time earns no credit. */
  used: number
  /** Waiting items in the order of their arrival. */
  readonly items: Set<T>
}

/**
 * Weighted fair queue. It serves the owner that has used least, and the items of one owner in order. Owners with equal
 * use take turns. Use is forgotten once nobody waits.
 */
export class ShareQueue<T> {
  readonly #shares = new Map<string, Share<T>>()
  /** Use of the owner served last, where new owners start. */
  #level = 0
  #size = 0

  /** Waiting items of all owners. */
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

  /** Removes an item that no longer waits, if the queue has it. */
  remove(owner: string, item: T): void {
    if (this.#shares.get(owner)?.items.delete(item) !== true) return
    this.#size--
    this.#forget()
  }

  /** Takes the next item, whose cost the caller then charges; null if nothing waits. */
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
    // Owners with equal use take turns.
    this.#shares.delete(owner)
    this.#shares.set(owner, share)
    return { owner, item }
  }

  charge(owner: string, cost: number): void {
    const share = this.#shares.get(owner)
    if (share !== undefined) share.used += cost
    this.#forget()
  }

  /** Forgets all use once nobody waits. */
  #forget(): void {
    if (this.#size > 0) return
    this.#shares.clear()
    this.#level = 0
  }
}
