import { type Clock, keepAlive } from '../domain/clock.ts'

const AHEAD_MS = 1_000

export class Pace {
  readonly #bytesPerMs: number
  readonly #clock: Clock
  /** Time at which the rate allows all bytes counted so far, in ms since the epoch. */
  #paidAt: number

  constructor(bytesPerSecond: number, clock: Clock) {
    this.#bytesPerMs = bytesPerSecond / 1_000
    this.#clock = clock
    this.#paidAt = clock.now() - AHEAD_MS
  }

  /** Counts `bytes`, and waits until they are within the rate. @throws the reason of the signal */
  async spend(bytes: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const now = this.#clock.now()
    this.#paidAt = Math.max(this.#paidAt, now - AHEAD_MS) + bytes / this.#bytesPerMs
    // If the clock was set back, limit the wait, so that the work does not stall.
    this.#paidAt = Math.min(this.#paidAt, now + AHEAD_MS + bytes / this.#bytesPerMs)
    if (this.#paidAt > now) await this.#wait(this.#paidAt - now, signal)
    signal?.throwIfAborted()
  }

  async #wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#clock.after(ms, resolve)
    // A timer of the clock does not keep the process alive, but this work must finish.
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
