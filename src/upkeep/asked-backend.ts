import { within } from '../concurrency/deadline.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import { orAborted } from '../domain/sources.ts'

/** Ms after which a request, or the next page of a list, counts as failed. */
const ANSWER_MS = 60_000
const MOST_FAILURES = 3

export class AskedBackend {
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #onAway: (reason: string) => void
  #failures = 0
  #isAway = false

  /** @param onAway called once, when the backend becomes unreachable */
  constructor(clock: Clock, signal: AbortSignal, onAway: (reason: string) => void) {
    this.#clock = clock
    this.#signal = signal
    this.#onAway = onAway
  }

  get isAway(): boolean {
    return this.#isAway
  }

  /** Returns null after an error or a timeout. */
  async ask<T>(question: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    try {
      const times = { clock: this.#clock, ms: ANSWER_MS, late, signal: this.#signal }
      const answer = await within(times, ended => orAborted(question(ended), ended))
      this.#failures = 0
      return answer
    } catch (error) {
      this.#signal.throwIfAborted()
      this.#failures++
      const reason = isHoldfastError(error) ? error.message : 'the request failed'
      if (this.#failures >= MOST_FAILURES) this.giveUp(reason)
      return null
    }
  }

  giveUp(reason: string): void {
    if (this.#isAway) return
    this.#isAway = true
    this.#onAway(reason)
  }
}

function late(): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'it did not answer in time')
}
