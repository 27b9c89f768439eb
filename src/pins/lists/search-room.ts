import { MemoryBudget } from '../../concurrency/capacity/memory-budget.ts'
import { Slots } from '../../concurrency/slots/slots.ts'
import type { Clock } from '../../domain/clock.ts'

/** Largest memory in bytes of a row until it is part of an answer. Most of it is metadata. */
const ROW_BYTES = 16 * 1024
const BOUNDS = { capacity: 16, perOwner: 4, waiting: 1_024, waitMs: 15_000, what: 'the catalogue' }
const NEVER = new AbortController().signal

/**
 * Bounds the searches and the other reads of many rows that run at once, by account, and the memory of their rows. A
 * waiting read holds nothing.
 */
export class SearchRoom {
  readonly #slots: Slots
  readonly #memory: MemoryBudget

  /** @param bytes memory of all pages; a larger page is read alone */
  constructor(bytes: number, clock: Clock) {
    this.#slots = new Slots(BOUNDS, clock)
    this.#memory = MemoryBudget.of(bytes, clock)
  }

  /**
   * Runs a read of at most `rows` rows. It must not wait for other systems.
   * @throws HoldfastError `UNAVAILABLE` with `retryAfter` if too many reads wait, or this one has waited too long
   */
  async hold<T>(account: string, rows: number, read: () => Promise<T>): Promise<T> {
    const slot = await this.#slots.enter(account)
    const bytes = rows * ROW_BYTES
    try {
      await this.#memory.take(bytes, NEVER)
      try {
        return await read()
      } finally {
        this.#memory.give(bytes)
      }
    } finally {
      slot.leave()
    }
  }
}
