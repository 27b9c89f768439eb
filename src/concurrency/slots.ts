import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { PacedSlot, type Slot, tooSlow } from './paced-slot.ts'

export interface SlotLimits {
  /** All slots together. */
  capacity: number
  /** Most slots of one owner; null for no limit. */
  perOwner: number | null
  /** Most requests in the queue. */
  waiting: number
  /** Longest wait in milliseconds, before the client is asked to retry. */
  waitMs: number
  /** Name of the scarce resource, for messages. */
  what: string
}

/** Interval of the search for slow slots while requests wait, in ms. */
export const LOOK_MS = 500
/** After a search that found no slow slot, wait this long before searching again, in ms. */
const VAIN_MS = 250

interface Owner {
  readonly name: string
  /** Oldest first. */
  readonly running: Set<PacedSlot>
  readonly waiting: Set<Waiter>
}

interface Waiter {
  readonly since: number
  admit(): void
  refuse(reason: unknown): void
}

/**
 * Semaphore for a scarce resource, shared by owner: a client's address or an account.
 *
 * Shares apply only under contention. Until then one owner may have every slot. When all slots are taken:
 * - A slot that becomes free goes to the owner with the fewest.
 * - A full queue admits an owner with few requests in place of one with many.
 * - A slot without progress ends if its owner has more slots than the waiting one.
 *
 * If all clients share one owner, as behind an unconfigured proxy, they take turns and no slot ends.
 */
export class Slots {
  readonly #limits: SlotLimits
  readonly #clock: Clock
  readonly #owners = new Map<string, Owner>()
  #running = 0
  #waiting = 0
  #looking: (() => void) | null = null
  #order = 0
  #searchedInVain = Number.NEGATIVE_INFINITY

  constructor(limits: SlotLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** Taken slots and waiting requests. */
  get state(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#waiting }
  }

  /**
   * Takes a slot, and waits for one if need be. The caller returns it.
   *
   * @throws HoldfastError `UNAVAILABLE` with `retryAfter` if too many wait or none became free in time; the signal's
   * reason.
   */
  async enter(name: string, signal?: AbortSignal): Promise<Slot> {
    signal?.throwIfAborted()
    const owner = this.#owners.get(name) ?? { name, running: new Set(), waiting: new Set() }
    this.#owners.set(name, owner)
    if (this.#mayRun(owner)) return this.#admit(owner)
    try {
      this.#makeRoomInQueue(owner)
      return await this.#wait(owner, signal)
    } finally {
      this.#forget(owner)
    }
  }

  #mayRun(owner: Owner): boolean {
    const { capacity, perOwner } = this.#limits
    if (perOwner !== null && owner.running.size >= perOwner) return false
    return this.#running < capacity || this.#endSlow(owner)
  }

  #admit(owner: Owner): Slot {
    this.#running++
    const slot = new PacedSlot(this.#clock, () => this.#release(owner, slot))
    owner.running.add(slot)
    return slot
  }

  #release(owner: Owner, slot: PacedSlot): void {
    if (!owner.running.delete(slot)) return
    this.#running--
    this.#forget(owner)
    this.#serve()
  }

  /** Admits waiting requests while there is room: those of the owner with the fewest slots first, then the oldest. */
  #serve(): void {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      if (!this.#mayRun(next.owner)) return
      next.waiter.admit()
    }
  }

  #next(): { owner: Owner; waiter: Waiter } | null {
    if (this.#waiting === 0) return null
    const { perOwner } = this.#limits
    let best: { owner: Owner; waiter: Waiter } | null = null
    for (const owner of this.#owners.values()) {
      const [waiter] = owner.waiting
      if (waiter === undefined || (perOwner !== null && owner.running.size >= perOwner)) continue
      const fewer = owner.running.size - (best?.owner.running.size ?? Number.POSITIVE_INFINITY)
      if (fewer < 0 || (fewer === 0 && best !== null && waiter.since < best.waiter.since)) best = { owner, waiter }
    }
    return best
  }

  /** Ends a slow slot of an owner who has more than this one would have. Returns whether there was one. */
  #endSlow(owner: Owner): boolean {
    const now = this.#clock.now()
    // A search visits every slot, and a flood of requests must not pay for it each time.
    if (now - this.#searchedInVain < VAIN_MS) return false
    const greedy = [...this.#owners.values()].filter(other => other.running.size > owner.running.size + 1)
    greedy.sort((a, b) => b.running.size - a.running.size)
    for (const other of greedy) {
      for (const slot of other.running) {
        if (now < slot.slowAt) continue
        other.running.delete(slot)
        this.#running--
        this.#forget(other)
        slot.end(tooSlow())
        return true
      }
    }
    if (greedy.length > 0) this.#searchedInVain = now
    return false
  }

  /** Refuses the newest request of the owner with the most in a full queue, or throws if that is the owner itself. */
  #makeRoomInQueue(owner: Owner): void {
    if (this.#waiting < this.#limits.waiting) return
    let greediest = owner
    for (const other of this.#owners.values()) if (other.waiting.size > greediest.waiting.size) greediest = other
    const last = [...greediest.waiting].at(-1)
    if (last === undefined || greediest.waiting.size <= owner.waiting.size + 1) throw this.#busy()
    last.refuse(this.#busy())
  }

  #wait(owner: Owner, signal: AbortSignal | undefined): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => (): void => {
        if (!owner.waiting.delete(waiter)) return
        this.#waiting--
        cancel()
        signal?.removeEventListener('abort', aborted)
        act()
      }
      const refuse = (reason: unknown): void => settle(() => reject(reason))()
      const waiter: Waiter = { since: this.#order++, admit: settle(() => resolve(this.#admit(owner))), refuse }
      const aborted = (): void => refuse(signal?.reason)
      const cancel = this.#clock.after(this.#limits.waitMs, () => refuse(this.#busy()))
      signal?.addEventListener('abort', aborted, { once: true })
      owner.waiting.add(waiter)
      this.#waiting++
      this.#look()
    })
  }

  #look(): void {
    if (this.#looking !== null || this.#waiting === 0) return
    this.#looking = this.#clock.after(LOOK_MS, () => {
      this.#looking = null
      this.#serve()
      this.#look()
    })
  }

  #forget(owner: Owner): void {
    if (owner.running.size > 0 || owner.waiting.size > 0) return
    if (this.#owners.get(owner.name) === owner) this.#owners.delete(owner.name)
  }

  #busy(): HoldfastError {
    return new HoldfastError('UNAVAILABLE', `${this.#limits.what} is busy`, { details: { retryAfter: 1 } })
  }
}
