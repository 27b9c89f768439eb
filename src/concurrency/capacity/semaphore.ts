import { ShareQueue } from './share-queue.ts'

export interface Pass {
  /** Resolves when the request is admitted. Null if it was admitted immediately. */
  entered: Promise<void> | null
  /** Gives the amount back, or leaves the queue. A second call has no effect. */
  leave: () => void
}

interface Waiting {
  readonly amount: number
  readonly admit: () => void
  isAdmitted: boolean
}

/**
 * Semaphore whose requests have weights. Waiting owners share it by weight, and the requests of one owner are served in
 * order. A request for more than the whole capacity runs alone.
 */
export class Semaphore {
  readonly #capacity: () => number
  #used = 0
  /** The request whose turn it is, and which did not fit. No other request overtakes it. */
  #next: Waiting | null = null
  readonly #behind = new ShareQueue<Waiting>()

  constructor(capacity: number | (() => number)) {
    this.#capacity = typeof capacity === 'number' ? () => capacity : capacity
  }

  /** Total weight of the admitted requests. */
  get used(): number {
    return this.#used
  }

  /** Number of waiting requests. */
  get waiting(): number {
    return (this.#next === null ? 0 : 1) + this.#behind.size
  }

  /** Requests `amount`. The caller leaves the pass when its work or its wait ends. */
  enter(owner: string, amount = 1): Pass {
    if (this.#takes(amount)) return { entered: null, leave: once(() => this.release(amount)) }
    const { promise: entered, resolve: admit } = Promise.withResolvers<void>()
    const request: Waiting = { amount, admit, isAdmitted: false }
    this.#behind.add(owner, request)
    const leave = (): void => (request.isAdmitted ? this.release(amount) : this.#drop(owner, request))
    return { entered, leave: once(leave) }
  }

  /**
   * Returns null if `amount` was free, or else a promise to await. The caller gives `amount` back with {@link release}.
   *
   * @param owner all requests without an owner count as one owner
   */
  acquire(amount: number, owner = ''): Promise<void> | null {
    return this.#takes(amount) ? null : this.enter(owner, amount).entered
  }

  release(amount: number): void {
    this.#used -= amount
    this.#serve()
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

  #takes(amount: number): boolean {
    if (this.waiting > 0 || !this.#fits(amount)) return false
    this.#used += amount
    return true
  }

  #serve(): void {
    for (;;) {
      this.#next ??= this.#shift()
      if (this.#next === null || !this.#fits(this.#next.amount)) return
      this.#used += this.#next.amount
      this.#next.isAdmitted = true
      this.#next.admit()
      this.#next = null
    }
  }

  #drop(owner: string, request: Waiting): void {
    if (this.#next === request) this.#next = null
    else this.#behind.remove(owner, request)
    this.#serve()
  }

  #shift(): Waiting | null {
    const next = this.#behind.take()
    if (next === null) return null
    this.#behind.charge(next.owner, next.item.amount)
    return next.item
  }

  #fits(amount: number): boolean {
    return this.#used === 0 || this.#used + amount <= this.#capacity()
  }
}

function once(act: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    act()
  }
}
