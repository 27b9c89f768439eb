import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { PacedSlot, type Slot, tooSlow } from './paced-slot.ts'

export interface SlotLimits {
  /** Slots in all. */
  capacity: number
  /** Of one owner; null for as many as there are. */
  perOwner: number | null
  /** How many may wait for one. */
  waiting: number
  /** How long one waits, in milliseconds, before it is told to come back. */
  waitMs: number
  /** What is busy, for the message. */
  what: string
}

/** While somebody waits, slow ones are looked for this often. */
export const LOOK_MS = 500
/** For so long no slow one is looked for after none was found. */
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
 * Lets so many at once do what is scarce, shared by owner: a client's address or an account.
 *
 * Shares bind only while there is too little: one owner may have everything as long as nobody else comes. When all is
 * taken, a place that becomes free goes to the owner who has fewest, the queue takes in an owner who has few in it in
 * place of one who has many, and a slot that makes no progress is ended if its owner has more than who waits. Where all
 * share one owner, as behind a proxy that is not configured, they take turns and nobody is ended.
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

  /** How many are taken, and how many wait. */
  get state(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#waiting }
  }

  /**
   * Takes a slot, waiting for one if need be. The caller gives it back.
   *
   * @throws HoldfastError `UNAVAILABLE` with `retryAfter` if too many wait, or if none became free in time; the
   * signal's reason.
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

  /** Lets in who waits, as far as there is room: of those who may, the owner with the fewest, the longest waiting. */
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

  /** Ends a slow slot of an owner who has more than this one would have. Whether there was one. */
  #endSlow(owner: Owner): boolean {
    const now = this.#clock.now()
    // A search costs as much as there are slots, and a flood of requests must not pay for it each time.
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

  /** Refuses the last of who has most in a full queue, or throws if that is the owner itself. */
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
