/**
 * Semaphore whose requests have weights. Waiting requests are served in order. A request for more than the whole
 * capacity runs alone.
 */
export class Semaphore {
  readonly #capacity: () => number
  #used = 0
  #waiting: Array<{ amount: number; enter: () => void }> = []

  constructor(capacity: number | (() => number)) {
    this.#capacity = typeof capacity === 'number' ? () => capacity : capacity
  }

  get isAwaited(): boolean {
    return this.#waiting.length > 0
  }

  /**
   * Returns null if `amount` was free, or else a promise to await. The caller gives `amount` back with {@link release}.
   */
  acquire(amount: number): Promise<void> | null {
    if (this.#waiting.length === 0 && this.#fits(amount)) {
      this.#used += amount
      return null
    }
    return new Promise(enter => this.#waiting.push({ amount, enter }))
  }

  release(amount: number): void {
    this.#used -= amount
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.amount); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#used += next.amount
      next.enter()
    }
  }

  async hold<T>(amount: number, work: () => Promise<T>): Promise<T> {
    const wait = this.acquire(amount)
    if (wait !== null) await wait
    try {
      return await work()
    } finally {
      this.release(amount)
    }
  }

  #fits(amount: number): boolean {
    return this.#used === 0 || this.#used + amount <= this.#capacity()
  }
}
