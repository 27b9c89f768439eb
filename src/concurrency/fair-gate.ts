import { ShareQueue } from './share-queue.ts'

export interface Pass {
  /** Resolves when the request is admitted. Null if it was admitted immediately. */
  entered: Promise<void> | null
  /** Leaves the gate or its queue. A second call has no effect. */
  leave: () => void
}

/**
 * Semaphore that takes turns between owners. An owner with few requests does not wait for the whole queue of another
 * owner.
 */
export class FairGate {
  readonly #capacity: number
  #inside = 0
  readonly #waiting = new ShareQueue<() => void>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  enter(owner: string): Pass {
    if (this.#inside < this.#capacity) {
      this.#inside++
      return { entered: null, leave: once(() => this.#release()) }
    }
    const { promise: entered, resolve } = Promise.withResolvers<void>()
    let inside = false
    const admit = (): void => {
      inside = true
      resolve()
    }
    this.#waiting.add(owner, admit)
    const leave = (): void => {
      if (inside) this.#release()
      else this.#waiting.remove(owner, admit)
    }
    return { entered, leave: once(leave) }
  }

  #release(): void {
    const next = this.#waiting.take()
    if (next === null) {
      this.#inside--
      return
    }
    this.#waiting.charge(next.owner, 1)
    next.item()
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
