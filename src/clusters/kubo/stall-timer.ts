import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'

/** A signal for requests, to be put to rest after the last: it aborts with another one, and when nothing has moved for so long. */
export class StallTimer {
  readonly signal: AbortSignal
  readonly #clock: Clock
  readonly #ms: number
  readonly #stalled = new AbortController()
  #cancel: () => void = () => undefined

  constructor(clock: Clock, ms: number, signal: AbortSignal) {
    this.#clock = clock
    this.#ms = ms
    this.signal = AbortSignal.any([signal, this.#stalled.signal])
    this.moved()
  }

  moved(): void {
    this.#cancel()
    const late = new HoldfastError('UNAVAILABLE', 'the Kubo of the cluster did not answer in time')
    this.#cancel = this.#clock.after(this.#ms, () => this.#stalled.abort(late))
  }

  /** Nothing is waited for until something moves again; in the end, for good. */
  rest(): void {
    this.#cancel()
  }
}
