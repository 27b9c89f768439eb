/** A request to enter a {@link FairGate}, queued or admitted. */
export interface Pass {
  /** Resolves once the request is admitted; null if it was admitted at once. */
  entered: Promise<void> | null
  /** Leaves the gate or its queue. A second call does nothing. */
  leave: () => void
}

/** Semaphore that takes turns between owners, so that no owner waits for the whole queue of another. */
export class FairGate {
  readonly #capacity: number
  #inside = 0
  /** Waiting requests by owner; the owner whose turn is next comes first. */
  readonly #queues = new Map<string, Set<() => void>>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  enter(owner: string): Pass {
    if (this.#inside < this.#capacity) {
      this.#inside++
      return { entered: null, leave: once(() => this.#release()) }
    }
    const { promise: entered, resolve } = Promise.withResolvers<void>()
    const queue = this.#queues.get(owner) ?? new Set()
    this.#queues.set(owner, queue)
    let inside = false
    const admit = (): void => {
      inside = true
      resolve()
    }
    queue.add(admit)
    const leave = (): void => {
      if (inside) this.#release()
      queue.delete(admit)
      if (queue.size === 0 && this.#queues.get(owner) === queue) this.#queues.delete(owner)
    }
    return { entered, leave: once(leave) }
  }

  #release(): void {
    const [turn] = this.#queues
    if (turn === undefined) {
      this.#inside--
      return
    }
    const [owner, queue] = turn
    const [next] = queue
    this.#queues.delete(owner)
    if (next !== undefined) queue.delete(next)
    // The owner moves to the end with the rest of its requests.
    if (queue.size > 0) this.#queues.set(owner, queue)
    next?.()
  }
}

function once(act: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    act()
  }
}
