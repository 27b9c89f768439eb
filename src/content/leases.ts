import { HoldfastError } from '../domain/errors.ts'

/** Who reads a root tells so by this, so that the collector leaves it alone for as long. */
export interface LeaseHolder {
  /** Whether the collector is another thread: what it does may cross what is read here. */
  readonly isShared: boolean
  /**
   * Holds a root until the returned function is called, once.
   *
   * @throws HoldfastError `UNAVAILABLE` if there is no room for one more
   */
  hold(rootId: number): () => void
}

/** Leases that a thread may have at a time: an answer has one, seldom a few. */
const PLACES = 8_192

/**
 * Roots that are being read, so that the collector leaves them alone for as long. A lease is held in memory only:
 * it ends with the response that it protects.
 */
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

  /** Memory for the leases of another thread; `end` gives them up, once the thread is no more. */
  share(): { memory: SharedArrayBuffer; end: () => void } {
    const memory = new SharedArrayBuffer(PLACES * BigInt64Array.BYTES_PER_ELEMENT)
    const places = new BigInt64Array(memory)
    this.#threads.add(places)
    return { memory, end: () => this.#threads.delete(places) }
  }

  /** Of all threads. */
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

/** The leases of a thread, which the collector of another reads. */
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
      throw new HoldfastError('UNAVAILABLE', 'more is read at once than can be', { details: { retryAfter: 1 } })
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
