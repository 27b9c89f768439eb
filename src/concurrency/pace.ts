import { type Clock, keepAlive } from '../domain/clock.ts'

/** Work may run ahead of its rate by this long, in milliseconds. */
const AHEAD_MS = 1_000

/** Rate limit for bytes that background work reads. */
export class Pace {
  readonly #bytesPerMs: number
  readonly #clock: Clock
  /** Instant at which the bytes so far are within the rate. */
  #paidAt: number

  constructor(bytesPerSecond: number, clock: Clock) {
    this.#bytesPerMs = bytesPerSecond / 1_000
    this.#clock = clock
    this.#paidAt = clock.now() - AHEAD_MS
  }

  /** Waits until so many more bytes are within the rate. @throws the signal's reason */
  async spend(bytes: number, signal?: AbortSignal): Promise<void> {
    const now = this.#clock.now()
    this.#paidAt = Math.max(this.#paidAt, now - AHEAD_MS) + bytes / this.#bytesPerMs
    // A clock that was set back must not stall the work.
    this.#paidAt = Math.min(this.#paidAt, now + AHEAD_MS + bytes / this.#bytesPerMs)
    if (this.#paidAt > now) await this.#wait(this.#paidAt - now, signal)
    signal?.throwIfAborted()
  }

  async #wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#clock.after(ms, resolve)
    // A clock's timer does not keep the process alive, but this work has to finish.
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
