import { ShareQueue } from './share-queue.ts'

interface Waiting {
  amount: number
  enter: () => void
}

/**
 * Semaphore whose requests have weights. Waiting owners share it by weight, and the requests of one owner are served in
 * order. A request for more than the whole capacity runs alone.
 */
export class Semaphore {
  readonly #capacity: () => number
  #used = 0
  /** The request to serve next. Null if no request waits. */
  #next: Waiting | null = null
  /** The requests that wait behind the next one. */
  readonly #waiting = new ShareQueue<Waiting>()

  constructor(capacity: number | (() => number)) {
    this.#capacity = typeof capacity === 'number' ? () => capacity : capacity
  }

  get isAwaited(): boolean {
    return this.#next !== null
  }

  /**
   * Returns null if `amount` was free, or else a promise to await. The caller gives `amount` back with {@link release}.
   *
   * @param owner all requests without an owner count as one owner
   */
  acquire(amount: number, owner = ''): Promise<void> | null {
    if (this.#next === null && this.#fits(amount)) {
      this.#used += amount
      return null
    }
    return new Promise(enter => {
      this.#waiting.add(owner, { amount, enter })
      this.#next ??= this.#shift()
    })
  }

  release(amount: number): void {
    this.#used -= amount
    for (; this.#next !== null && this.#fits(this.#next.amount); this.#next = this.#shift()) {
      this.#used += this.#next.amount
      this.#next.enter()
    }
  }

  async hold<T>(amount: number, work: () => Promise<T>, owner = ''): Promise<T> {
    const wait = this.acquire(amount, owner)
    if (wait !== null) await wait
    try {
      return await work()
    } finally {
      this.release(amount)
    }
  }

  #shift(): Waiting | null {
    const next = this.#waiting.take()
    if (next === null) return null
    this.#waiting.charge(next.owner, next.item.amount)
    return next.item
  }

  #fits(amount: number): boolean {
    return this.#used === 0 || this.#used + amount <= this.#capacity()
  }
}
