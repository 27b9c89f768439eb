import { HoldfastError } from '../domain/errors.ts'

/** Leases roots to readers. The garbage collector does not delete the blocks of a leased root. */
export interface LeaseHolder {
  /**
   * True if the collector runs in another thread. The collector may then drop a root between a lookup and the lease.
   */
  readonly isShared: boolean
  /**
   * Leases a root until the caller calls the returned function. A second call of that function has no effect.
   *
   * @throws HoldfastError `UNAVAILABLE` if there is no room for another lease
   */
  hold(rootId: number): () => void
}

/** Maximum number of leases per thread. A response needs one lease, and rarely a few. */
const PLACES = 8_192

export class Leases implements LeaseHolder {
  readonly isShared = false
  readonly #held = new Map<number, number>()
  readonly #threads = new Set<BigInt64Array>()

  hold(rootId: number): () => void {
    this.#held.set(rootId, (this.#held.get(rootId) ?? 0) + 1)
    let released = false
    return () => {
      if (released) return
      released = true
      const left = (this.#held.get(rootId) ?? 1) - 1
      if (left === 0) this.#held.delete(rootId)
      else this.#held.set(rootId, left)
    }
  }

  /** The caller calls `end` after the other thread has ended. */
  share(): { memory: SharedArrayBuffer; end: () => void } {
    const memory = new SharedArrayBuffer(PLACES * BigInt64Array.BYTES_PER_ELEMENT)
    const places = new BigInt64Array(memory)
    this.#threads.add(places)
    return { memory, end: () => this.#threads.delete(places) }
  }

  held(): ReadonlySet<number> {
    const held = new Set(this.#held.keys())
    for (const places of this.#threads) {
      for (let place = 0; place < PLACES; place++) {
        const rootId = Atomics.load(places, place)
        if (rootId !== 0n) held.add(Number(rootId))
      }
    }
    return held
  }
}

/** Leases of a reader thread, in shared memory that the collector's thread reads. */
export class SharedLeases implements LeaseHolder {
  readonly isShared = true
  readonly #places: BigInt64Array
  readonly #free: number[]

  constructor(memory: SharedArrayBuffer) {
    this.#places = new BigInt64Array(memory)
    this.#free = Array.from(this.#places.keys())
  }

  hold(rootId: number): () => void {
    const place = this.#free.pop()
    if (place === undefined) {
      throw new HoldfastError('UNAVAILABLE', 'too many concurrent reads; try again', { details: { retryAfter: 1 } })
    }
    Atomics.store(this.#places, place, BigInt(rootId))
    let released = false
    return () => {
      if (released) return
      released = true
      Atomics.store(this.#places, place, 0n)
      this.#free.push(place)
    }
  }
}
