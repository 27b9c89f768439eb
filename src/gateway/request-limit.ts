import { HoldfastError } from '../domain/errors.ts'

/** Lets so many requests be under way at once, their bodies included. */
export class RequestLimit {
  readonly #most: number
  #running = 0

  constructor(most: number) {
    this.#most = most
  }

  /**
   * Takes a place, which the returned function gives back, once.
   *
   * @throws HoldfastError `UNAVAILABLE` if there is none.
   */
  enter(): () => void {
    if (this.#running >= this.#most) {
      throw new HoldfastError('UNAVAILABLE', 'the gateway is busy', { details: { retryAfter: 1 } })
    }
    this.#running++
    let left = false
    return () => {
      if (!left) this.#running--
      left = true
    }
  }
}
