import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { PacedSlot, type Slot, tooSlow } from './paced-slot.ts'

export interface SlotLimits {
  capacity: number
  /** Null for no limit. */
  perOwner: number | null
  waiting: number
  /** Maximum time that a request waits before the client is asked to retry. */
  waitMs: number
  /** For error messages. */
  what: string
  /** Number of threads that share the capacity and the queue in equal parts. Default: 1. */
  threads?: () => number
}

const LOOK_MS = 500
/** After a search that found no slow slot, wait this long before searching again, in ms. */
const VAIN_MS = 250
/** Maximum number of slots of one owner for each free slot. */
const OWN_PER_FREE = 7
const NONE: ReadonlySet<PacedSlot> = new Set()

interface Waiting {
  readonly owner: string
  admit(slot: Slot): void
  refuse(reason: unknown): void
}

/**
 * Semaphore for a scarce resource, which owners share fairly. An owner is a client's address or an account.
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
  readonly #limits: SlotLimits
  readonly #clock: Clock
  readonly #taken = new Map<string, Set<PacedSlot>>()
  /** The oldest request is first. */
  readonly #waiting = new Set<Waiting>()
  #running = 0
  #vainSearch = Number.NEGATIVE_INFINITY
  #isLooking = false

  constructor(limits: SlotLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  get state(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#waiting.size }
  }

  /**
   * Waits until a slot is free. The caller gives the slot back with {@link Slot.leave}.
   * @throws HoldfastError `UNAVAILABLE` with `retryAfter` if the queue is full or no slot became free in time; the
   * reason of the signal
   */
  async enter(owner: string, signal?: AbortSignal): Promise<Slot> {
    signal?.throwIfAborted()
    if (this.#mayRun(owner)) return this.#admit(owner)
    if (this.#waiting.size >= this.#part(this.#limits.waiting) && !this.#makeRoomInQueue(owner)) throw this.#busy()
    return this.#wait(owner, signal)
  }

  /** Returns the part of this thread, which is at least one. */
  #part(count: number): number {
    return Math.max(1, Math.floor(count / (this.#limits.threads?.() ?? 1)))
  }

  #mayRun(owner: string): boolean {
    const { capacity, perOwner } = this.#limits
    const own = this.#takenBy(owner).size
    if (perOwner !== null && own >= perOwner) return false
    // A single owner leaves an eighth of the slots free, and more owners together leave less.
    const free = this.#part(capacity) - this.#running
    return own < OWN_PER_FREE * free || this.#endSlow(own)
  }

  #takenBy(owner: string): ReadonlySet<PacedSlot> {
    return this.#taken.get(owner) ?? NONE
  }

  #admit(owner: string): Slot {
    const slot = new PacedSlot(this.#clock, () => {
      if (this.#free(owner, slot)) this.#serve()
    })
    this.#taken.set(owner, (this.#taken.get(owner) ?? new Set()).add(slot))
    this.#running++
    return slot
  }

  /** Returns whether the slot was taken until now. */
  #free(owner: string, slot: PacedSlot): boolean {
    const own = this.#taken.get(owner)
    if (own?.delete(slot) !== true) return false
    if (own.size === 0) this.#taken.delete(owner)
    this.#running--
    return true
  }

  /** Ends a slow slot of the owner with the most slots, at least two more than `own`. Returns whether a slot ended. */
  #endSlow(own: number): boolean {
    const now = this.#clock.now()
    if (now - this.#vainSearch < VAIN_MS) return false
    const greedy = [...this.#taken].filter(([, { size }]) => size > own + 1).sort(([, a], [, b]) => b.size - a.size)
    for (const [owner, slots] of greedy) {
      for (const slot of slots) {
        if (now < slot.slowAt) continue
        this.#free(owner, slot)
        // The caller takes the slot first.
        queueMicrotask(() => slot.end(tooSlow()))
        return true
      }
    }
    if (greedy.length > 0) this.#vainSearch = now
    return false
  }

  /** Admits waiting requests while slots are free. Prefers the owner with the fewest slots, then the oldest request. */
  #serve(): void {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      if (!this.#mayRun(next.owner)) return
      next.admit(this.#admit(next.owner))
    }
  }

  #next(): Waiting | null {
    const { perOwner } = this.#limits
    let fewest = perOwner ?? Number.POSITIVE_INFINITY
    let best: Waiting | null = null
    for (const waiting of this.#waiting) {
      const own = this.#takenBy(waiting.owner).size
      if (own >= fewest) continue
      fewest = own
      best = waiting
    }
    return best
  }

  /**
   * Refuses the newest request of the owner with the most requests. Returns false unless that owner has at least two
   * requests more than `owner`.
   */
  #makeRoomInQueue(owner: string): boolean {
    const queued = Map.groupBy(this.#waiting, waiting => waiting.owner)
    const own = queued.get(owner) ?? []
    const greediest = [...queued.values()].reduce((most, next) => (next.length > most.length ? next : most), own)
    if (greediest.length <= own.length + 1) return false
    greediest.at(-1)?.refuse(this.#busy())
    return true
  }

  #wait(owner: string, signal: AbortSignal | undefined): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const over = (): void => {
        this.#waiting.delete(waiting)
        cancel()
        signal?.removeEventListener('abort', aborted)
      }
      const waiting: Waiting = {
        owner,
        admit: slot => {
          over()
          resolve(slot)
        },
        refuse: reason => {
          over()
          reject(reason)
        },
      }
      const aborted = (): void => waiting.refuse(signal?.reason)
      const cancel = this.#clock.after(this.#limits.waitMs, () => waiting.refuse(this.#busy()))
      signal?.addEventListener('abort', aborted, { once: true })
      this.#waiting.add(waiting)
      this.#look()
    })
  }

  /** Serves requests for which a slot has become slow, or whose thread has a larger part now. */
  #look(): void {
    if (this.#isLooking || this.#waiting.size === 0) return
    this.#isLooking = true
    this.#clock.after(LOOK_MS, () => {
      this.#isLooking = false
      this.#serve()
      this.#look()
    })
  }

  #busy(): HoldfastError {
    return new HoldfastError('UNAVAILABLE', `${this.#limits.what} is busy`, { details: { retryAfter: 1 } })
  }
}
