import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'

/** A place that is taken. */
export interface Slot {
  /** From here on progress is expected; who makes too little is ended by `end` when another owner needs the place. */
  watch(end: (reason: HoldfastError) => void): void
  /** Tells that so many bytes were taken, or have come. */
  progress(bytes: number): void
  /** The client is not what is waited for, until {@link resume}. */
  pause(): void
  resume(): void
  /** As {@link watch}, for a body: its client is waited for whenever more of it is asked for. */
  watching(body: AsyncIterable<Uint8Array>, end: (reason: HoldfastError) => void): AsyncIterable<Uint8Array>
  /** Gives the place back. Safe to call more than once. */
  leave(): void
}

/** A step is as much as has to be taken, or to come, before the client has been waited for so long. */
const STEP_BYTES = 64 * 1024
const STALL_MS = 10_000
const TOLD_MS = 1_000

/** A place whose client has to get on. */
export class PacedSlot implements Slot {
  readonly #clock: Clock
  readonly #release: () => void
  readonly #told: (slowAt: number) => void
  #end: ((reason: HoldfastError) => void) | null = null
  /** Of the step that is under way: its bytes, how long the client was waited for, and since when it is again. */
  #bytes = 0
  #waited = 0
  #since: number | null = null
  #toldLast = Number.POSITIVE_INFINITY

  /** @param told called when {@link slowAt} has changed by a second or more */
  constructor(clock: Clock, release: () => void, told: (slowAt: number) => void = () => undefined) {
    this.#clock = clock
    this.#release = release
    this.#told = told
  }

  /** From when on it is slow if nothing comes of it, in milliseconds since the epoch. */
  get slowAt(): number {
    if (this.#end === null) return Number.POSITIVE_INFINITY
    if (this.#since !== null) return this.#since - this.#waited + STALL_MS
    return this.#waited >= STALL_MS ? 0 : Number.POSITIVE_INFINITY
  }

  watch(end: (reason: HoldfastError) => void): void {
    this.#end = end
    this.#since = this.#clock.now()
    this.#tell()
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
    this.#tell()
  }

  pause(): void {
    if (this.#since !== null) this.#waited += this.#clock.now() - this.#since
    this.#since = null
    this.#tell()
  }

  resume(): void {
    this.#since ??= this.#clock.now()
    this.#tell()
  }

  /** Takes the place away. */
  end(reason: HoldfastError): void {
    this.#end?.(reason)
  }

  leave(): void {
    this.#release()
  }

  /** A chunk of a body is no reason for it. */
  #tell(): void {
    const { slowAt } = this
    if (slowAt === this.#toldLast || Math.abs(slowAt - this.#toldLast) < TOLD_MS) return
    this.#toldLast = slowAt
    this.#told(slowAt)
  }
}

/** Why a place is taken away. */
export function tooSlow(): HoldfastError {
  return new HoldfastError('ABORTED', 'others wait, and this one of many to the same client is read too slowly')
}
