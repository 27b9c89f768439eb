import { hash } from 'node:crypto'
import { SlotRows, type SlotTable, STATE } from './slot-rows.ts'

/** After a search that found no slow slot, wait this long before searching again, in ms. */
const VAIN_MS = 250
/** Maximum number of slots of one owner for each free slot. */
const OWN_PER_FREE = 7
const KNOWN_OWNERS = 1_000

export type WaiterOutcome = { row: number } | 'refused' | null

/**
 * Implements the rules of {@link Slots} in memory that threads share. Work under the lock takes microseconds. Searches
 * the rows only while an eighth of the slots or less is free, or if the number of slots per owner is limited.
 */
export class SlotMemory {
  readonly #rows: SlotRows
  readonly #table: SlotTable
  readonly #ownSlowAt: (row: number) => number | undefined
  /** Caches hashes by name, because a hash costs as much as all other work of {@link enter}. */
  readonly #owners = new Map<string, bigint>()
  #touched = new Set<number>()

  /**
   * @param slowAt returns the instant from which a slot of this thread is slow, or undefined if the slot is not in use
   * yet
   */
  constructor(table: SlotTable, slowAt: (row: number) => number | undefined) {
    this.#table = table
    this.#ownSlowAt = slowAt
    this.#rows = new SlotRows(table)
  }

  get running(): number {
    return this.#rows.count('running')
  }

  get waiting(): number {
    return this.#rows.count('waiting')
  }

  ownerOf(name: string): bigint {
    const known = this.#owners.get(name)
    if (known !== undefined) return known
    const owner = hash('sha256', Buffer.concat([this.#table.seed, Buffer.from(name)]), 'buffer').readBigUInt64LE()
    if (this.#owners.size === KNOWN_OWNERS) this.#owners.clear()
    this.#owners.set(name, owner)
    return owner
  }

  /** Runs `work`, which changes rows, under the lock. Then notifies the threads that the change affects. */
  locked<T>(work: () => T): T {
    this.#rows.lock()
    try {
      return work()
    } finally {
      this.#rows.unlock(this.#table.holder)
      if (this.#touched.size > 0) {
        const touched = this.#touched
        this.#touched = new Set()
        for (const holder of touched) this.#rows.tell(holder)
      }
    }
  }

  get changes(): number {
    return this.#rows.changes
  }

  changedSince(seen: number): Promise<void> {
    return this.#rows.changedSince(seen)
  }

  /** Returns null if the queue is full. */
  enter(owner: bigint, now: number): { row: number } | { waiter: number } | null {
    if (this.#mayRun(owner, now)) return { row: this.#admit(owner, this.#table.holder) }
    if (this.waiting >= this.#table.waiting && !this.#makeRoomInQueue(owner)) return null
    const waiter = this.#rows.free(STATE.waits)
    if (waiter === null) return null
    this.#rows.fill(waiter, STATE.waits, this.#table.holder, owner)
    this.#rows.set(waiter, 'generation', this.#rows.add('order', 1))
    this.#rows.add('waiting', 1)
    return { waiter }
  }

  generation(row: number): number {
    return this.#rows.get(row, 'generation')
  }

  setSlowAt(row: number, instant: number): void {
    this.#rows.setSlowAt(row, instant)
  }

  /** Gives a slot back. Does nothing if the slot has already been reused. */
  leave(row: number, generation: number, now: number): void {
    if (this.generation(row) !== generation) return
    this.#free(row)
    this.serve(now)
  }

  /** Returns the outcome of a waiting request. An outcome frees the request's row. */
  outcomeOf(waiter: number): WaiterOutcome {
    const state = this.#rows.state(waiter)
    if (state === STATE.waits) return null
    this.#rows.setState(waiter, STATE.free)
    return state === STATE.admitted ? { row: this.#rows.get(waiter, 'got') } : 'refused'
  }

  /** Removes a request from the queue. If the request already has an outcome, returns it instead. */
  giveUp(waiter: number): WaiterOutcome {
    const outcome = this.outcomeOf(waiter)
    if (outcome !== null) return outcome
    this.#rows.setState(waiter, STATE.free)
    this.#rows.add('waiting', -1)
    return null
  }

  /** Admits waiting requests while slots are free. Prefers the owner with the fewest slots, then the oldest request. */
  serve(now: number): void {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      const owner = this.#rows.owner(next)
      if (!this.#mayRun(owner, now)) return
      this.#rows.set(next, 'got', this.#admit(owner, this.#rows.get(next, 'holder')))
      this.#endWaiting(next, STATE.admitted)
    }
  }

  /**
   * Frees all rows of a thread that has ended. Also frees the lock, because the thread may have ended during a change.
   */
  forget(holder: number, now: number): void {
    this.#rows.unlock(holder)
    this.locked(() => {
      for (let row = 0; row < this.#rows.rows; row++) {
        if (this.#rows.state(row) === STATE.free || this.#rows.get(row, 'holder') !== holder) continue
        if (this.#rows.state(row) === STATE.taken) this.#rows.set(row, 'generation', this.generation(row) + 1)
        this.#rows.setState(row, STATE.free)
      }
      this.#rows.add('running', this.#rows.all(STATE.taken).length - this.running)
      this.#rows.add('waiting', this.#rows.all(STATE.waits).length - this.waiting)
      this.serve(now)
    })
  }

  #mayRun(owner: bigint, now: number): boolean {
    const { capacity, perOwner } = this.#table
    if (perOwner !== null && this.#rows.takenBy(owner) >= perOwner) return false
    return this.#isWithinShare(owner, capacity - this.running) || this.#endSlow(owner, now)
  }

  /**
   * Returns whether an owner may take one of the free slots. A single owner leaves an eighth of the slots free, and
   * more owners together leave less. The slots are searched only if that eighth is in use.
   */
  #isWithinShare(owner: bigint, free: number): boolean {
    const most = OWN_PER_FREE * free
    return this.running < most || this.#rows.takenBy(owner) < most
  }

  #admit(owner: bigint, holder: number): number {
    const row = this.#rows.free(STATE.taken)
    if (row === null) throw new RangeError('there is no free place, though fewer are taken than there are')
    this.#rows.fill(row, STATE.taken, holder, owner)
    this.setSlowAt(row, Number.POSITIVE_INFINITY)
    this.#rows.add('running', 1)
    return row
  }

  #free(row: number): void {
    this.#rows.setState(row, STATE.free)
    this.#rows.set(row, 'generation', this.generation(row) + 1)
    this.#rows.add('running', -1)
  }

  #next(): number | null {
    if (this.waiting === 0) return null
    const { perOwner } = this.#table
    const running = this.#rows.byOwner(STATE.taken)
    let best: { row: number; runs: number; order: number } | null = null
    for (const row of this.#rows.all(STATE.waits)) {
      const runs = running.get(this.#rows.owner(row)) ?? 0
      const order = this.generation(row)
      if (perOwner !== null && runs >= perOwner) continue
      if (best === null || runs < best.runs || (runs === best.runs && order < best.order)) best = { row, runs, order }
    }
    return best?.row ?? null
  }

  /**
   * Ends a slow slot for `owner`, if the slot's owner has at least two slots more. Returns whether a slot was ended.
   */
  #endSlow(owner: bigint, now: number): boolean {
    if (now - this.#rows.vainSearch < VAIN_MS) return false
    const running = this.#rows.byOwner(STATE.taken)
    const own = running.get(owner) ?? 0
    let slowest: { row: number; runs: number } | null = null
    for (const row of this.#rows.all(STATE.taken)) {
      const runs = running.get(this.#rows.owner(row)) ?? 0
      if (runs <= own + 1 || now < this.#slowAt(row)) continue
      if (slowest === null || runs > slowest.runs) slowest = { row, runs }
    }
    if (slowest !== null) {
      this.#touched.add(this.#rows.get(slowest.row, 'holder'))
      this.#free(slowest.row)
      return true
    }
    if ([...running.values()].some(runs => runs > own + 1)) this.#rows.vainSearch = now
    return false
  }

  #slowAt(row: number): number {
    if (this.#rows.get(row, 'holder') !== this.#table.holder) return this.#rows.slowAt(row)
    return this.#ownSlowAt(row) ?? Number.POSITIVE_INFINITY
  }

  /**
   * Refuses the newest request of the owner with the most requests. Returns false unless that owner has at least two
   * requests more than `owner`.
   */
  #makeRoomInQueue(owner: bigint): boolean {
    const queued = this.#rows.byOwner(STATE.waits)
    const [greediest, most] = [...queued].reduce((best, next) => (next[1] > best[1] ? next : best), [owner, 0])
    if (most <= (queued.get(owner) ?? 0) + 1) return false
    const theirs = this.#rows.all(STATE.waits).filter(row => this.#rows.owner(row) === greediest)
    const last = theirs.reduce((latest, row) => (this.generation(row) > this.generation(latest) ? row : latest))
    this.#endWaiting(last, STATE.refused)
    return true
  }

  #endWaiting(waiter: number, state: typeof STATE.admitted | typeof STATE.refused): void {
    this.#rows.setState(waiter, state)
    this.#rows.add('waiting', -1)
    this.#touched.add(this.#rows.get(waiter, 'holder'))
  }
}
