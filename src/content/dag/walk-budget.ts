import { nextTurn, turnSpent } from '../../domain/concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'

/** Blocks and entries that one answer looks at, each as often as its DAG repeats it. */
const MOST_STEPS = 10_000_000
/** Bytes of the blocks that a walk is inside of at a time. */
const MOST_OPEN_BYTES = 64 * 1024 ** 2

export interface WalkLimits {
  steps?: number
  openBytes?: number
}

/**
 * What one answer may cost, whatever the DAG is like that it is made from: a few small blocks can stand for more
 * entries, or more bytes, than there will ever be time for.
 */
export class WalkBudget {
  readonly #signal: AbortSignal
  #steps: number
  #openBytes: number

  constructor(signal: AbortSignal, { steps = MOST_STEPS, openBytes = MOST_OPEN_BYTES }: WalkLimits = {}) {
    this.#signal = signal
    this.#steps = steps
    this.#openBytes = openBytes
  }

  /** Another budget for part of the work, of no more than so many steps. */
  within(steps: number): WalkBudget {
    return new WalkBudget(this.#signal, { steps: Math.min(steps, this.#steps), openBytes: this.#openBytes })
  }

  /**
   * Counts one more step. Null, or a promise to wait for because the event loop has been held for long enough.
   *
   * @throws HoldfastError `DIRECTORY_TOO_LARGE` if there have been too many. The promise rejects with the signal's
   * reason.
   */
  step(): Promise<void> | null {
    if (this.#steps-- <= 0) throw tooLarge('it has more parts, counted as often as they occur')
    return this.turn()
  }

  /** As {@link step}, for work that the size of what has been read bounds already. */
  turn(): Promise<void> | null {
    return turnSpent() ? nextTurn(this.#signal) : null
  }

  /**
   * Notes that a walk has gone into a block, and keeps it.
   *
   * @throws HoldfastError `DIRECTORY_TOO_LARGE` if too much is kept.
   */
  enter(bytes: number): void {
    this.#openBytes -= bytes
    if (this.#openBytes < 0) throw tooLarge('it nests more large blocks')
  }

  /** Notes that it has come out again. */
  leave(bytes: number): void {
    this.#openBytes += bytes
  }
}

function tooLarge(reason: string): HoldfastError {
  return new HoldfastError('DIRECTORY_TOO_LARGE', `content is too large for one answer: ${reason} than are followed`)
}
