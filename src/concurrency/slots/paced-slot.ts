import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'

/** A slot that a request has taken. {@link Slots} issues it. */
export interface Slot {
  /**
   * Starts the client's time. If the client makes too little progress and another owner needs the slot, the slot calls
   * `end`.
   */
  watch(end: (reason: HoldfastError) => void): void
  progress(bytes: number): void
  /** Stops the client's time until {@link resume}. */
  pause(): void
  resume(): void
  /** Watches a body like {@link watch}. The client's time runs only while a chunk of the body is being requested. */
  watching(body: AsyncIterable<Uint8Array>, end: (reason: HoldfastError) => void): AsyncIterable<Uint8Array>
  /** Gives the slot back. A second call has no effect. */
  leave(): void
}

/** Bytes that a client must transfer within {@link STALL_MS} of its time. */
const STEP_BYTES = 64 * 1024
const STALL_MS = 10_000

export class PacedSlot implements Slot {
  readonly #clock: Clock
  readonly #release: () => void
  #end: ((reason: HoldfastError) => void) | null = null
  /**
   * State of the current step: its bytes, the client's time so far in ms, and the instant since which the time runs.
   * The instant is null while the time is stopped.
   */
  #bytes = 0
  #waited = 0
  #since: number | null = null

  constructor(clock: Clock, release: () => void) {
    this.#clock = clock
    this.#release = release
  }

  /** Instant at which the slot counts as slow if there is no progress, in ms since the epoch. */
  get slowAt(): number {
    if (this.#end === null) return Number.POSITIVE_INFINITY
    if (this.#since !== null) return this.#since - this.#waited + STALL_MS
    return this.#waited >= STALL_MS ? 0 : Number.POSITIVE_INFINITY
  }

  watch(end: (reason: HoldfastError) => void): void {
    this.#end = end
    this.#since = this.#clock.now()
  }

  async *watching(
    body: AsyncIterable<Uint8Array>,
    end: (reason: HoldfastError) => void,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    this.watch(end)
    try {
      for await (const chunk of body) {
        this.pause()
        this.progress(chunk.byteLength)
        yield chunk
        this.resume()
      }
    } finally {
      this.pause()
    }
  }

  progress(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes < STEP_BYTES) return
    this.#bytes = 0
    this.#waited = 0
    if (this.#since !== null) this.#since = this.#clock.now()
  }

  pause(): void {
    if (this.#since !== null) this.#waited += this.#clock.now() - this.#since
    this.#since = null
  }

  resume(): void {
    this.#since ??= this.#clock.now()
  }

  end(reason: HoldfastError): void {
    this.#end?.(reason)
  }

  leave(): void {
    this.#end = null
    this.#release()
  }
}

export function tooSlow(): HoldfastError {
  return new HoldfastError('ABORTED', 'others wait, and this one of many to the same client is read too slowly')
}
