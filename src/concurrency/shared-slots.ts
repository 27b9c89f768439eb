import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { PacedSlot, type Slot, tooSlow } from './paced-slot.ts'
import { SlotMemory } from './slot-memory.ts'
import { SlotRows, type SlotTable } from './slot-rows.ts'
import { LOOK_MS, type SlotLimits } from './slots.ts'

interface Waiting {
  admit(row: number): void
  refuse(reason: unknown): void
}

/**
 * {@link Slots} that several threads share: all of them together have so many places, by the same rules. The places are
 * rows of shared memory, which whoever has its lock looks through only while there are too few.
 */
export class SharedSlots {
  readonly #table: SlotTable
  readonly #memory: SlotMemory
  readonly #limits: SlotLimits
  readonly #clock: Clock
  /** Of this thread, by row. */
  readonly #running = new Map<number, { slot: PacedSlot; generation: number }>()
  readonly #waiting = new Map<number, Waiting>()
  #looking: (() => void) | null = null
  #isListening = false

  /** @param limits of which all threads have the same; `perOwner` is null */
  constructor(limits: SlotLimits, clock: Clock, table = SlotRows.table(limits.capacity, limits.waiting)) {
    this.#limits = limits
    this.#clock = clock
    this.#table = table
    this.#memory = new SlotMemory(table)
  }

  /** The same places for another thread. The number is its own until {@link forget}. */
  tableFor(holder: number): SlotTable {
    return { ...this.#table, holder }
  }

  /** How many are taken, and how many wait, in all threads. */
  get state(): { running: number; waiting: number } {
    return this.#memory.locked(() => ({ running: this.#memory.running, waiting: this.#memory.waiting }))
  }

  /**
   * Takes a slot, waiting for one if need be. The caller gives it back.
   *
   * @throws HoldfastError `UNAVAILABLE` with `retryAfter` if too many wait, or if none became free in time; the
   * signal's reason.
   */
  async enter(name: string, signal?: AbortSignal): Promise<Slot> {
    signal?.throwIfAborted()
    const owner = this.#memory.ownerOf(name)
    const place = this.#change(() => this.#memory.enter(owner, this.#clock.now()))
    if (place === null) throw this.#busy()
    return 'row' in place ? this.#slotAt(place.row) : this.#wait(place.waiter, signal)
  }

  /** Gives back what a thread had that is no more. */
  forget(holder: number): void {
    this.#memory.forget(holder, this.#clock.now())
    this.#settle()
  }

  #slotAt(row: number): Slot {
    const generation = this.#memory.generation(row)
    const leave = (): void => {
      if (this.#running.get(row)?.generation === generation) this.#running.delete(row)
      this.#change(() => this.#memory.leave(row, generation, this.#clock.now()))
    }
    const slot = new PacedSlot(this.#clock, leave, instant => {
      if (this.#memory.generation(row) === generation) this.#memory.setSlowAt(row, instant)
    })
    this.#running.set(row, { slot, generation })
    this.#listen()
    return slot
  }

  #wait(waiter: number, signal: AbortSignal | undefined): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const over = (): void => {
        this.#waiting.delete(waiter)
        cancel()
        signal?.removeEventListener('abort', aborted)
      }
      const waiting: Waiting = {
        admit: row => {
          over()
          resolve(this.#slotAt(row))
        },
        refuse: reason => {
          over()
          reject(reason)
        },
      }
      const giveUp = (reason: unknown): void => {
        // By now it may have been let in.
        const outcome = this.#change(() => this.#memory.giveUp(waiter))
        if (outcome === null || outcome === 'refused') waiting.refuse(reason)
        else waiting.admit(outcome.row)
      }
      const aborted = (): void => giveUp(signal?.reason)
      const cancel = this.#clock.after(this.#limits.waitMs, () => giveUp(this.#busy()))
      signal?.addEventListener('abort', aborted, { once: true })
      this.#waiting.set(waiter, waiting)
      this.#listen()
      this.#look()
    })
  }

  /** Changes something, and sees to what that means for this thread. */
  #change<T>(work: () => T): T {
    const { news } = this.#memory
    const result = this.#memory.locked(work)
    if (this.#memory.news !== news) this.#settle()
    return result
  }

  /** Sees to what others have done to the places of this thread. */
  #settle(): void {
    for (const [row, { slot, generation }] of this.#running) {
      if (this.#memory.generation(row) === generation) continue
      this.#running.delete(row)
      slot.end(tooSlow())
    }
    for (const [waiter, waiting] of this.#waiting) {
      const outcome = this.#memory.locked(() => this.#memory.outcomeOf(waiter))
      if (outcome === 'refused') waiting.refuse(this.#busy())
      else if (outcome !== null) waiting.admit(outcome.row)
    }
  }

  /** While somebody waits here, slow ones are looked for. */
  #look(): void {
    if (this.#looking !== null || this.#waiting.size === 0) return
    this.#looking = this.#clock.after(LOOK_MS, () => {
      this.#looking = null
      this.#change(() => this.#memory.serve(this.#clock.now()))
      this.#look()
    })
  }

  /** Hears of what others do for as long as this thread has, or wants, a place. */
  #listen(): void {
    if (this.#isListening) return
    this.#isListening = true
    void this.#hear()
  }

  async #hear(): Promise<void> {
    while (this.#running.size + this.#waiting.size > 0) {
      const { news } = this.#memory
      this.#settle()
      await this.#memory.told(news)
    }
    this.#isListening = false
  }

  #busy(): HoldfastError {
    return new HoldfastError('UNAVAILABLE', `${this.#limits.what} is busy`, { details: { retryAfter: 1 } })
  }
}
