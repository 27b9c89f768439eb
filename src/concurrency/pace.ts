import { type Clock, keepAlive } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { pause } from './pause.ts'

/** Time without work of which the rate is saved up, in ms. */
const AHEAD_MS = 1_000

/**
 * Returns the pace of the option `bytesPerSecond`, of which undefined is no limit.
 * @throws HoldfastError `VALIDATION` unless it is above 0
 */
export function bytePace(bytesPerSecond: number | undefined, clock: Clock): Pace {
  const rate = bytesPerSecond ?? Number.POSITIVE_INFINITY
  if (typeof rate !== 'number' || !(rate > 0)) {
    throw new HoldfastError('VALIDATION', 'bytesPerSecond must be a number above 0')
  }
  return new Pace(rate, clock)
}

/** Spreads amounts over time, such as bytes. */
export class Pace {
  readonly #perMs: number
  readonly #clock: Clock
  /** Time at which the rate allows all amounts counted so far, in ms since the epoch. */
  #paidAt: number
  #seenAt: number

  constructor(perSecond: number, clock: Clock) {
    this.#perMs = perSecond / 1_000
    this.#clock = clock
    this.#seenAt = clock.now()
    this.#paidAt = this.#seenAt - AHEAD_MS
  }

  /** Counts `amount`, and waits until it is within the rate. @throws the reason of the signal */
  async spend(amount: number, signal: AbortSignal = new AbortController().signal): Promise<void> {
    signal.throwIfAborted()
    const now = this.#clock.now()
    // If the clock was set back, the wait stays the same.
    const setBack = Math.max(0, this.#seenAt - now)
    this.#seenAt = now
    this.#paidAt = Math.max(this.#paidAt - setBack, now - AHEAD_MS) + amount / this.#perMs
    if (this.#paidAt <= now) return
    // A timer of the clock does not keep the process alive, but this work must finish.
    const release = keepAlive()
    try {
      await pause(this.#clock, this.#paidAt - now, signal)
    } finally {
      release()
    }
  }
}
