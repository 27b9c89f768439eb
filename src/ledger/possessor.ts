import type { Clock } from '../domain/clock.ts'

/** Owner of a root that strangers may read. Any other owner is a random number, which an account keeps. */
export const PUBLIC = 0

/**
 * The party for which a stored block is used, although its request did not send the block. Knowing a CID gives nobody
 * the bytes of another account. The party may use blocks of live public roots, of live roots of its owner, and what its
 * own request has sent. A class, so that no row with an owner passes for one.
 */
export class Possessor {
  readonly owner: number
  /** Staged root of what the request has sent; 0 for none. */
  readonly sentRoot: number
  readonly #clock: Pick<Clock, 'now'>

  /** @param owner {@link PUBLIC} for a party without roots of its own */
  constructor(owner: number, clock: Pick<Clock, 'now'>, sentRoot = 0) {
    this.owner = owner
    this.sentRoot = sentRoot
    this.#clock = clock
  }

  get now(): number {
    return this.#clock.now()
  }

  /** Returns the same party, which may also use what a staged root of its request has claimed. */
  with(sentRoot: number): Possessor {
    return new Possessor(this.owner, this.#clock, sentRoot)
  }
}
