import type { Clock } from '../../../../src/index.ts'

interface Timer {
  at: number
  callback: () => void
  handle: NodeJS.Timeout
}

/** The system time plus an offset. Timers that become due by advancing fire at once. */
export class MovingClock implements Clock {
  readonly #timers = new Set<Timer>()
  #ahead = 0

  now(): number {
    return Date.now() + this.#ahead
  }

  after(ms: number, callback: () => void): () => void {
    const timer: Timer = { at: this.now() + ms, callback, handle: setTimeout(() => this.#fire(timer), Math.max(0, ms)) }
    timer.handle.unref()
    this.#timers.add(timer)
    return () => this.#cancel(timer)
  }

  /** Advances in steps, so that long timers set in several parts fire as well. */
  advance(ms: number): void {
    const end = this.#ahead + ms
    while (this.#ahead < end) {
      this.#ahead = Math.min(end, this.#ahead + 30_000)
      const now = this.now()
      const due = [...this.#timers].filter(timer => timer.at <= now).sort((a, b) => a.at - b.at)
      for (const timer of due) this.#fire(timer)
    }
  }

  #fire(timer: Timer): void {
    if (!this.#timers.has(timer)) return
    this.#cancel(timer)
    timer.callback()
  }

  #cancel(timer: Timer): void {
    clearTimeout(timer.handle)
    this.#timers.delete(timer)
  }
}
