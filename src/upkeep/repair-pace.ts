import { pause } from '../concurrency/pause.ts'
import type { Clock } from '../domain/clock.ts'

/** Spreads amounts over time. Each waits until all earlier ones have had their share. */
export class RepairPace {
  readonly #perSecond: number
  readonly #clock: Clock
  /** When the next amount may begin, in ms since the epoch. */
  #next = 0

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond
    this.#clock = clock
  }

  /** @throws the reason of the signal */
  async take(amount: number, signal: AbortSignal): Promise<void> {
    const now = this.#clock.now()
    const wait = Math.max(0, this.#next - now)
    this.#next = now + wait + (amount * 1_000) / this.#perSecond
    if (wait > 0) await pause(this.#clock, wait, signal)
  }
}
