/** A place asked for. */
export interface Pass {
  /** Resolves once it is taken; null if it was there at once. */
  entered: Promise<void> | null
  /** Gives it back, or stops waiting for it; safe to call more than once. */
  leave: () => void
}

/** Lets a number in at once, and takes turns between owners, so that none waits for all that another has queued. */
export class FairGate {
  readonly #capacity: number
  #inside = 0
  /** Those who wait, by owner; the owner whose turn is next comes first. */
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
    // The owner goes to the end of the line with what else it has.
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
