import type { CID } from 'multiformats/cid'

export interface Wanted {
  cid: CID
  presence: boolean
  sendDontHave: boolean
}

/** Maximum number of queued wants of one peer. Further wants are ignored. */
export const MOST_WANTS = 4_096
/** Above this number of wants across all peers, each peer may queue only {@link SHARE} wants. */
const MOST_WANTS_OF_ALL = 65_536
const SHARE = 128

export interface WantCount {
  count: number
}

export class WantQueue {
  readonly #all: WantCount
  readonly #wanted = new Map<string, Wanted>()

  constructor(all: WantCount) {
    this.#all = all
  }

  get size(): number {
    return this.#wanted.size
  }

  /** Ignores the want if the queue is full. */
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
