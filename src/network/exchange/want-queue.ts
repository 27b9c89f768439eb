import type { CID } from 'multiformats/cid'

export interface Wanted {
  cid: CID
  presence: boolean
  sendDontHave: boolean
}

/** Most queued wants of one peer. Further ones count as "don't have". */
export const MOST_WANTS = 4_096
/** The same for all peers together. Above it, one peer may queue only {@link SHARE}. */
const MOST_WANTS_OF_ALL = 65_536
const SHARE = 128

/** Number of queued wants of all peers. */
export interface WantCount {
  count: number
}

/** The queued wants of one peer, oldest first. */
export class WantQueue {
  readonly #all: WantCount
  readonly #wanted = new Map<string, Wanted>()

  constructor(all: WantCount) {
    this.#all = all
  }

  get size(): number {
    return this.#wanted.size
  }

  /** Queues a want, unless the queue is full. */
  add(key: string, wanted: Wanted): void {
    if (!this.#wanted.has(key)) {
      const most = this.#all.count < MOST_WANTS_OF_ALL ? MOST_WANTS : SHARE
      if (this.#wanted.size >= most) return
      this.#all.count++
    }
    this.#wanted.set(key, wanted)
  }

  delete(key: string): void {
    if (this.#wanted.delete(key)) this.#all.count--
  }

  clear(): void {
    this.#all.count -= this.#wanted.size
    this.#wanted.clear()
  }

  /** Removes and returns the first wants. */
  take(count: number): Wanted[] {
    const taken: Wanted[] = []
    for (const [key, wanted] of this.#wanted) {
      if (taken.length === count) break
      this.delete(key)
      taken.push(wanted)
    }
    return taken
  }
}
