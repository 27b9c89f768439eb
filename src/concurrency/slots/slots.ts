import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { PacedSlot, type Slot, tooSlow } from './paced-slot.ts'
import { SlotMemory } from './slot-memory.ts'
import { SlotRows, type SlotTable } from './slot-rows.ts'

export interface SlotLimits {
  capacity: number
  /** Null for no limit. */
  perOwner: number | null
  waiting: number
  /** Maximum time that a request waits before the client is asked to retry. */
  waitMs: number
  /** For error messages. */
  what: string
}

const LOOK_MS = 500

interface Waiting {
  admit(row: number): void
  refuse(reason: unknown): void
}

/**
 * Semaphore for a scarce resource, which owners share fairly. An owner is a client's address or an account. Other
 * threads may share the slots.
 *
 * An owner takes a slot only while it has fewer than seven times as many as are free. An owner that comes later thus
 * finds a free slot, if there are more than seven. While an owner must wait:
 * - A slot that becomes free goes to the owner with the fewest slots.
 * - If the queue is full, an owner with few requests replaces a request of the owner with the most requests.
 * - A slot without progress ends if its owner has more slots than the owner of the waiting request.
 *
 * If all clients share one owner, as behind an unconfigured proxy, they take turns and no slot ends.
 */
export class Slots {
  readonly #table: SlotTable
  readonly #memory: SlotMemory
  readonly #limits: SlotLimits
  readonly #clock: Clock
  readonly #running = new Map<number, { slot: PacedSlot; generation: number }>()
  readonly #waiting = new Map<number, Waiting>()
  /**
   * True if another thread shares the slots. Each thread then writes to the shared memory which of its slots are slow.
   */
  #isShared: boolean
  #looking: (() => void) | null = null
  #isListening = false

  /** @param table access to the slots of another thread, which must have the same limits; default: new slots */
  constructor(limits: SlotLimits, clock: Clock, table?: SlotTable) {
    this.#limits = limits
    this.#clock = clock
    this.#table = table ?? SlotRows.table(limits)
    this.#isShared = table !== undefined
    this.#memory = new SlotMemory(this.#table, row => this.#running.get(row)?.slot.slowAt)
  }

  /** Returns the access for another thread, whose number stays reserved until {@link forget}. */
  tableFor(holder: number): SlotTable {
    this.#isShared = true
    for (const [row, { slot }] of this.#running) this.#memory.setSlowAt(row, slot.slowAt)
    return { ...this.#table, holder }
  }

  /** Counts of all threads. */
  get state(): { running: number; waiting: number } {
    return this.#memory.locked(() => ({ running: this.#memory.running, waiting: this.#memory.waiting }))
  }

  /**
   * Waits until a slot is free. The caller gives the slot back with {@link Slot.leave}.
   * @throws HoldfastError `UNAVAILABLE` with `retryAfter` if the queue is full or no slot became free in time; the
   * reason of the signal
   */
  async enter(name: string, signal?: AbortSignal): Promise<Slot> {
    signal?.throwIfAborted()
    const owner = this.#memory.ownerOf(name)
    const place = this.#change(() => this.#memory.enter(owner, this.#clock.now()))
    if (place === null) throw this.#busy()
    return 'row' in place ? this.#slotAt(place.row) : this.#wait(place.waiter, signal)
  }

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
      if (this.#isShared && this.#memory.generation(row) === generation) this.#memory.setSlowAt(row, instant)
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

  #change<T>(work: () => T): T {
    const { changes } = this.#memory
    const result = this.#memory.locked(work)
    if (this.#memory.changes !== changes) this.#settle()
    return result
  }

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

  #look(): void {
    if (this.#looking !== null || this.#waiting.size === 0) return
    this.#looking = this.#clock.after(LOOK_MS, () => {
      this.#looking = null
      this.#change(() => this.#memory.serve(this.#clock.now()))
      this.#look()
    })
  }

  #listen(): void {
    if (this.#isListening) return
    this.#isListening = true
    void this.#hear()
  }

  async #hear(): Promise<void> {
    while (this.#running.size + this.#waiting.size > 0) {
      const { changes } = this.#memory
      this.#settle()
      await this.#memory.changedSince(changes)
    }
    this.#isListening = false
  }

  #busy(): HoldfastError {
    return new HoldfastError('UNAVAILABLE', `${this.#limits.what} is busy`, { details: { retryAfter: 1 } })
  }
}
