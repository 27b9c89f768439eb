import { type Clock, systemClock } from '../domain/clock.ts'

interface Timer {
  at: number
  callback: () => void
}

/** A real timer with a longer delay fires at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/** A clock that stands still until a test moves it. */
export class TestClock implements Clock {
  readonly #timers = new Set<Timer>()
  #now: number

  /** @param start milliseconds since the epoch, or an RFC 3339 date-time. Default: the time of the system. */
  constructor(start: number | string = systemClock.now()) {
    this.#now = typeof start === 'number' ? start : Date.parse(start)
  }

  now(): number {
    return this.#now
  }

  /** Throws for a delay that a real timer cannot wait, so that no test relies on one. */
  after(ms: number, callback: () => void): () => void {
    if (!(ms <= LONGEST_DELAY_MS)) throw new RangeError(`a timer of ${ms} ms would fire at once`)
    const timer = { at: this.#now + Math.max(0, ms), callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Number of pending timers. */
  get waiting(): number {
    return this.#timers.size
  }

  /** Moves the clock. Each timer fires in order at its own time, including timers set on the way. */
  advance(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const due = [...this.#timers].filter(timer => timer.at <= end).sort((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      this.#timers.delete(due)
      this.#now = Math.max(this.#now, due.at)
      due.callback()
    }
    this.#now = end
  }

  /** Moves the clock at once, as after a machine's sleep: all due timers fire late, at the new time. */
  jump(ms: number): void {
    this.#now += ms
    this.advance(0)
  }
}
