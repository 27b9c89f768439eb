import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { Semaphore } from './semaphore.ts'
import { MOST_HOLDERS } from './slot-rows.ts'

/** The budget as one thread sees it. It can be cloned, and its counters stay shared. */
export interface MemoryShare {
  counters: SharedArrayBuffer
  /** Bytes for all threads together. */
  limit: number
  /** Number of the thread, from 0; unique among live threads. */
  holder: number
}

const UNIT_BYTES = 1024
/** Longest wait for memory, in milliseconds. */
const WAIT_MS = 15_000
const RETRY_SECONDS = 5

/**
 * Budget of memory that the threads of a process share in equal parts. A thread that wants more than is free waits for
 * its own blocks to be sent, so no thread can starve another. A single block may exceed the whole part.
 */
export class MemoryBudget {
  readonly #share: MemoryShare
  /** The number of threads, then the units that each has taken. */
  readonly #counters: Int32Array
  readonly #taken: Semaphore
  readonly #clock: Clock

  constructor(share: MemoryShare, clock: Clock) {
    this.#share = share
    this.#counters = new Int32Array(share.counters)
    this.#clock = clock
    this.#taken = new Semaphore(() => this.#part)
  }

  /** Units of this thread. */
  get #part(): number {
    return this.#share.limit / UNIT_BYTES / Atomics.load(this.#counters, 0)
  }

  /** Makes a budget of so many bytes, for the first thread. */
  static of(limit: number, clock: Clock): MemoryBudget {
    const counters = new SharedArrayBuffer((1 + MOST_HOLDERS) * Int32Array.BYTES_PER_ELEMENT)
    new Int32Array(counters)[0] = 1
    return new MemoryBudget({ counters, limit, holder: 0 }, clock)
  }

  /** Gives another thread its part until {@link forget}. */
  shareFor(holder: number): MemoryShare {
    Atomics.add(this.#counters, 0, 1)
    return { ...this.#share, holder }
  }

  /** Frees the part of a thread that has ended. */
  forget(holder: number): void {
    Atomics.sub(this.#counters, 0, 1)
    Atomics.store(this.#counters, 1 + holder, 0)
  }

  get limit(): number {
    return this.#share.limit
  }

  /** Bytes that all threads have taken. */
  get used(): number {
    return this.#counters.subarray(1).reduce((sum, units) => sum + units, 0) * UNIT_BYTES
  }

  /** True while this thread has taken more than half of its part. */
  get isScarce(): boolean {
    return Atomics.load(this.#counters, 1 + this.#share.holder) * 2 > this.#part
  }

  /** True while a caller of this thread waits. */
  get isAwaited(): boolean {
    return this.#taken.isAwaited
  }

  /**
   * Takes memory, and waits for it if need be. The caller gives it back.
   *
   * @throws HoldfastError `UNAVAILABLE` with `retryAfter` if none became free in time; the signal's reason
   */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    const units = unitsOf(bytes)
    const wait = this.#taken.acquire(units)
    if (wait !== null) await this.#orGiveUp(wait, units, signal)
    Atomics.add(this.#counters, 1 + this.#share.holder, units)
  }

  give(bytes: number): void {
    const units = unitsOf(bytes)
    Atomics.sub(this.#counters, 1 + this.#share.holder, units)
    this.#taken.release(units)
  }

  async #orGiveUp(wait: Promise<void>, units: number, signal: AbortSignal): Promise<void> {
    const over = Promise.withResolvers<never>()
    const aborted = (): void => over.reject(signal.reason)
    signal.addEventListener('abort', aborted, { once: true })
    const cancel = this.#clock.after(WAIT_MS, () => over.reject(spent()))
    try {
      await Promise.race([wait, over.promise])
    } catch (error) {
      void wait.then(() => this.#taken.release(units))
      throw error
    } finally {
      cancel()
      signal.removeEventListener('abort', aborted)
    }
  }
}

function unitsOf(bytes: number): number {
  return Math.ceil(bytes / UNIT_BYTES)
}

function spent(): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the node has no memory left for another answer', {
    details: { retryAfter: RETRY_SECONDS },
  })
}
