import { type Clock, keepAlive } from '../domain/clock.ts'

/** Work may be ahead of its rate by as much as it may do in this time, in milliseconds. */
const AHEAD_MS = 1_000

/** A bound on how many bytes a second some work reads. */
export class Pace {
  readonly #bytesPerMs: number
  readonly #clock: Clock
  /** When the bytes so far are paid for. */
  #paidAt: number

  constructor(bytesPerSecond: number, clock: Clock) {
    this.#bytesPerMs = bytesPerSecond / 1_000
    this.#clock = clock
    this.#paidAt = clock.now() - AHEAD_MS
  }

  /** Resolves once so many bytes more are within the rate. @throws the signal's reason */
  async spend(bytes: number, signal?: AbortSignal): Promise<void> {
    const now = this.#clock.now()
    this.#paidAt = Math.max(this.#paidAt, now - AHEAD_MS) + bytes / this.#bytesPerMs
    // A clock that was set back must not make the work wait for it.
    this.#paidAt = Math.min(this.#paidAt, now + AHEAD_MS + bytes / this.#bytesPerMs)
    if (this.#paidAt > now) await this.#wait(this.#paidAt - now, signal)
    signal?.throwIfAborted()
  }

  async #wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#clock.after(ms, resolve)
    // Timers of a clock let a process end, but work that waits for its rate has to be done.
    const release = keepAlive()
    const end = (): void => resolve()
    signal?.addEventListener('abort', end, { once: true })
    try {
      await promise
    } finally {
      cancel()
      release()
      signal?.removeEventListener('abort', end)
    }
  }
}
