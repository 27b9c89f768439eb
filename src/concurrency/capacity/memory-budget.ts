import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { orAborted } from '../../domain/sources.ts'
import { within } from '../deadline.ts'
import { currentOwner } from '../work.ts'
import { type Pass, Semaphore } from './semaphore.ts'

/** A thread's access to the budget. It can be sent to another thread, and the counters stay shared. */
export interface MemoryShare {
  counters: SharedArrayBuffer
  limit: number
  /** Number of the thread, from 0. No other live thread has the same number. */
  holder: number
}

/** Maximum number of threads that may share memory, including the first one. */
export const MOST_HOLDERS = 64

const UNIT_BYTES = 1024
const WAIT_MS = 15_000
const RETRY_SECONDS = 5

/**
 * Memory budget of a process, which its threads share in equal parts. A thread that has used up its part waits until it
 * has sent some of its own blocks, so that no thread can starve another. In one thread, waiting owners take turns. A
 * single block may exceed the whole part.
 */
export class MemoryBudget {
  readonly #share: MemoryShare
  /** First the number of threads, then the number of units that each thread has taken. */
  readonly #counters: Int32Array
  readonly #taken: Semaphore
  readonly #clock: Clock

  constructor(share: MemoryShare, clock: Clock) {
    this.#share = share
    this.#counters = new Int32Array(share.counters)
    this.#clock = clock
    this.#taken = new Semaphore(() => this.#part)
  }

  get #part(): number {
    return this.#share.limit / UNIT_BYTES / this.threads
  }

  static of(limit: number, clock: Clock): MemoryBudget {
    const counters = new SharedArrayBuffer((1 + MOST_HOLDERS) * Int32Array.BYTES_PER_ELEMENT)
    new Int32Array(counters)[0] = 1
    return new MemoryBudget({ counters, limit, holder: 0 }, clock)
  }

  /** Returns the access of another thread, which has an equal part until {@link forget}. */
  shareFor(holder: number): MemoryShare {
    Atomics.add(this.#counters, 0, 1)
    return { ...this.#share, holder }
  }

  forget(holder: number): void {
    Atomics.sub(this.#counters, 0, 1)
    Atomics.store(this.#counters, 1 + holder, 0)
  }

  /** Number of threads that have a part. */
  get threads(): number {
    return Atomics.load(this.#counters, 0)
  }

  get limit(): number {
    return this.#share.limit
  }

  get used(): number {
    return this.#counters.subarray(1).reduce((sum, units) => sum + units, 0) * UNIT_BYTES
  }

  /** True if this thread has taken more than half of its part. */
  get isScarce(): boolean {
    return Atomics.load(this.#counters, 1 + this.#share.holder) * 2 > this.#part
  }

  get isAwaited(): boolean {
    return this.#taken.waiting > 0
  }

  /**
   * Waits until enough memory is free. The caller must give the memory back with {@link give}.
   * @throws HoldfastError `UNAVAILABLE` with `retryAfter` if not enough became free in time; the reason of the signal
   */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    const units = unitsOf(bytes)
    const pass = this.#taken.enter(currentOwner(), units)
    if (pass.entered !== null) await this.#orGiveUp(pass, signal)
    Atomics.add(this.#counters, 1 + this.#share.holder, units)
  }

  give(bytes: number): void {
    const units = unitsOf(bytes)
    Atomics.sub(this.#counters, 1 + this.#share.holder, units)
    this.#taken.release(units)
  }

  async #orGiveUp({ entered, leave }: Pass, signal: AbortSignal): Promise<void> {
    try {
      await within({ clock: this.#clock, ms: WAIT_MS, late: spent, signal }, late => orAborted(entered, late))
    } catch (error) {
      leave()
      throw error
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
