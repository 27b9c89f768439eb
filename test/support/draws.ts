/** A pseudo-random number generator with a seed. */
export class Draws {
  #state: number

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e37_79b1) >>> 0
  }

  /** Returns an integer from 0 to `limit - 1`. */
  below(limit: number): number {
    // Mulberry32.
    this.#state = (this.#state + 0x6d2b_79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }

  pick<T>(values: readonly [T, ...T[]]): T {
    return values[this.below(values.length)] ?? values[0]
  }

  /** Returns a generator with its own sequence, for work that runs concurrently. */
  fork(): Draws {
    return new Draws(this.below(2 ** 32))
  }
}
