import type { CID } from 'multiformats/cid'

export interface Wanted {
  cid: CID
  presence: boolean
  sendDontHave: boolean
}

/** Wants of one peer that wait; what is over is as if we did not have it. */
export const MOST_WANTS = 4_096
/** Of all peers together. Once they are so many, a peer may add to its own only up to its share. */
const MOST_WANTS_OF_ALL = 65_536
const SHARE = 128

/** Counts the wants that wait over all peers. */
export interface WantCount {
  count: number
}

/** The wants of one peer, in the order of asking. */
export class WantQueue {
  readonly #all: WantCount
  readonly #wanted = new Map<string, Wanted>()

  constructor(all: WantCount) {
    this.#all = all
  }

  get size(): number {
    return this.#wanted.size
  }

  /** Nothing happens where there are too many. */
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

  /** Takes the first ones off. */
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
