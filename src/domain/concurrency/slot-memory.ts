import { hash, randomBytes } from 'node:crypto'

/** What a thread is given of places that it shares with others. */
export interface SlotTable {
  memory: SharedArrayBuffer
  capacity: number
  waiting: number
  /** The thread, from 0; no two that live have the same. */
  holder: number
  /** Keeps clients from choosing names that look like another's. */
  seed: Uint8Array
}

/** Threads that may share places, the first one included. */
export const MOST_HOLDERS = 64

const FREE = 0
const TAKEN = 1
const WAITS = 1
const ADMITTED = 2
const REFUSED = 3

/** Words of all: who has the lock, how many run and wait, the order of waiters; then one of news for each holder. */
const [LOCK, RUNNING, WAITING, ORDER] = [0, 1, 2, 3]
const NEWS = 4
const HEAD_WORDS = NEWS + MOST_HOLDERS
/** Words of a row: its state, its holder, a generation for a place, and for a waiter its order and what it got. */
const [STATE, HOLDER, GENERATION, GOT] = [0, 1, 2, 3]
const ROW_WORDS = 4
/** How long a thread sleeps before it looks at the lock again, should nobody wake it. */
const LOCK_MS = 5
/** For so long no slow one is looked for after none was found. */
const VAIN_MS = 250

/** A row of one who was let in, or refused, is free once its thread has looked: so there are more than may wait. */
function rowsOf(capacity: number, waiting: number): number {
  return 2 * (capacity + waiting)
}

/**
 * Places and those who wait for one, in memory that threads share. What is done under the lock takes microseconds; the
 * rows are looked through only while all places are taken.
 */
export class SlotMemory {
  readonly #words: Int32Array
  /** Of each row who owns it. */
  readonly #owners: BigUint64Array
  /** Of each place from when on it is slow; before them when none was found slow last. */
  readonly #instants: Float64Array
  readonly #table: SlotTable
  /** Places first, then those of waiters. */
  readonly #rows: number
  #touched = new Set<number>()

  constructor(table: SlotTable) {
    const { memory, capacity, waiting } = table
    const rows = rowsOf(capacity, waiting)
    this.#table = table
    this.#rows = rows
    this.#owners = new BigUint64Array(memory, 0, rows)
    this.#instants = new Float64Array(memory, rows * 8, capacity + 1)
    this.#words = new Int32Array(memory, (rows + capacity + 1) * 8)
  }

  static table(capacity: number, waiting: number): SlotTable {
    const rows = rowsOf(capacity, waiting)
    const memory = new SharedArrayBuffer((rows + capacity + 1) * 8 + (HEAD_WORDS + rows * ROW_WORDS) * 4)
    new Float64Array(memory, rows * 8, 1)[0] = Number.NEGATIVE_INFINITY
    return { memory, capacity, waiting, holder: 0, seed: randomBytes(16) }
  }

  get running(): number {
    return this.#get(RUNNING)
  }

  get waiting(): number {
    return this.#get(WAITING)
  }

  /** A client as the rows know it. */
  ownerOf(name: string): bigint {
    return hash('sha256', Buffer.concat([this.#table.seed, Buffer.from(name)]), 'buffer').readBigUInt64LE()
  }

  /** Runs what changes rows, alone of all threads, then tells those that it has changed something for. */
  locked<T>(work: () => T): T {
    this.lock()
    try {
      return work()
    } finally {
      Atomics.store(this.#words, LOCK, 0)
      Atomics.notify(this.#words, LOCK, 1)
      const touched = this.#touched
      if (touched.size > 0) {
        this.#touched = new Set()
        for (const holder of touched) this.#tell(holder)
      }
    }
  }

  /** Waits until no other thread changes rows. */
  lock(): void {
    const mine = this.#table.holder + 1
    const take = (): number => Atomics.compareExchange(this.#words, LOCK, 0, mine)
    for (let found = take(); found !== 0; found = take()) Atomics.wait(this.#words, LOCK, found, LOCK_MS)
  }

  /** Resolves when somebody has changed something for this thread since it was last looked at. */
  async told(seen: number): Promise<void> {
    const { value } = Atomics.waitAsync(this.#words, NEWS + this.#table.holder, seen)
    await value
  }

  /** How often something was changed for this thread. */
  get news(): number {
    return this.#get(NEWS + this.#table.holder)
  }

  /** Takes a place, or one in the queue. Null if that is full. */
  enter(owner: bigint, now: number): { row: number } | { waiter: number } | null {
    if (this.#mayRun(owner, now)) return { row: this.#admit(owner, this.#table.holder) }
    if (this.waiting >= this.#table.waiting && !this.#makeRoomInQueue(owner)) return null
    const waiter = this.#firstFree(this.#table.capacity, this.#rows)
    if (waiter === null) return null
    this.#setRow(waiter, WAITS, this.#table.holder, owner)
    this.#set(this.#at(waiter, GENERATION), this.#add(ORDER, 1))
    this.#add(WAITING, 1)
    return { waiter }
  }

  /** Grows with each that has had the place. */
  generation(row: number): number {
    return this.#get(this.#at(row, GENERATION))
  }

  setSlowAt(row: number, instant: number): void {
    this.#instants[row + 1] = instant
  }

  /** Gives a place back, unless somebody else has it by now. */
  leave(row: number, generation: number, now: number): void {
    if (this.generation(row) !== generation) return
    this.#free(row)
    this.serve(now)
  }

  /** What has become of one who waits: its place, or that there is none; null if it still waits. */
  outcomeOf(waiter: number): { row: number } | 'refused' | null {
    const state = this.#get(this.#at(waiter, STATE))
    if (state === WAITS) return null
    this.#set(this.#at(waiter, STATE), FREE)
    return state === ADMITTED ? { row: this.#get(this.#at(waiter, GOT)) } : 'refused'
  }

  /** Takes one out of the queue. Tells what has become of it if it does not wait any more. */
  giveUp(waiter: number): ReturnType<SlotMemory['outcomeOf']> {
    const outcome = this.outcomeOf(waiter)
    if (outcome !== null) return outcome
    this.#set(this.#at(waiter, STATE), FREE)
    this.#add(WAITING, -1)
    return null
  }

  /** Lets in who waits, as far as there is room: of those who may, the owner with the fewest, the longest waiting. */
  serve(now: number): void {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      const owner = this.#owner(next)
      if (!this.#mayRun(owner, now)) return
      const holder = this.#get(this.#at(next, HOLDER))
      this.#set(this.#at(next, GOT), this.#admit(owner, holder))
      this.#end(next, ADMITTED)
    }
  }

  /** Frees all that a thread had that is no more. */
  forget(holder: number, now: number): void {
    // It may have ended in the middle of a change.
    if (Atomics.compareExchange(this.#words, LOCK, holder + 1, 0) === holder + 1) Atomics.notify(this.#words, LOCK, 1)
    this.locked(() => {
      const { capacity } = this.#table
      for (let row = 0; row < this.#rows; row++) {
        if (this.#get(this.#at(row, HOLDER)) !== holder) continue
        if (row < capacity && this.#get(this.#at(row, STATE)) === TAKEN) this.#add(this.#at(row, GENERATION), 1)
        this.#set(this.#at(row, STATE), FREE)
      }
      this.#set(RUNNING, this.#rowsIn(TAKEN, 0, capacity).length)
      this.#set(WAITING, this.#rowsIn(WAITS, capacity, this.#rows).length)
      this.serve(now)
    })
  }

  #mayRun(owner: bigint, now: number): boolean {
    return this.running < this.#table.capacity || this.#endSlow(owner, now)
  }

  #admit(owner: bigint, holder: number): number {
    const row = this.#firstFree(0, this.#table.capacity)
    if (row === null) throw new RangeError('there is no free place, though fewer are taken than there are')
    this.#setRow(row, TAKEN, holder, owner)
    this.setSlowAt(row, Number.POSITIVE_INFINITY)
    this.#add(RUNNING, 1)
    return row
  }

  #free(row: number): void {
    this.#set(this.#at(row, STATE), FREE)
    this.#add(this.#at(row, GENERATION), 1)
    this.#add(RUNNING, -1)
  }

  #next(): number | null {
    if (this.waiting === 0) return null
    const running = this.#counted(TAKEN, 0, this.#table.capacity)
    let best: { row: number; runs: number; order: number } | null = null
    for (const row of this.#rowsIn(WAITS, this.#table.capacity, this.#rows)) {
      const runs = running.get(this.#owner(row)) ?? 0
      const order = this.#get(this.#at(row, GENERATION))
      if (best === null || runs < best.runs || (runs === best.runs && order < best.order)) best = { row, runs, order }
    }
    return best?.row ?? null
  }

  /** Ends a slow one of an owner who has more than this one would have. Whether there was one. */
  #endSlow(owner: bigint, now: number): boolean {
    if (now - (this.#instants[0] ?? 0) < VAIN_MS) return false
    const running = this.#counted(TAKEN, 0, this.#table.capacity)
    const own = running.get(owner) ?? 0
    let slowest: { row: number; runs: number } | null = null
    for (const row of this.#rowsIn(TAKEN, 0, this.#table.capacity)) {
      const runs = running.get(this.#owner(row)) ?? 0
      if (runs <= own + 1 || now < (this.#instants[row + 1] ?? 0)) continue
      if (slowest === null || runs > slowest.runs) slowest = { row, runs }
    }
    if (slowest !== null) {
      this.#touched.add(this.#get(this.#at(slowest.row, HOLDER)))
      this.#free(slowest.row)
      return true
    }
    if ([...running.values()].some(runs => runs > own + 1)) this.#instants[0] = now
    return false
  }

  /** Refuses the last of who has most in a full queue. Whether that is not the owner itself. */
  #makeRoomInQueue(owner: bigint): boolean {
    const { capacity } = this.#table
    const queued = this.#counted(WAITS, capacity, this.#rows)
    const [greediest, most] = [...queued].reduce((best, next) => (next[1] > best[1] ? next : best), [owner, 0])
    if (most <= (queued.get(owner) ?? 0) + 1) return false
    const theirs = this.#rowsIn(WAITS, capacity, this.#rows).filter(row => this.#owner(row) === greediest)
    const order = (row: number): number => this.#get(this.#at(row, GENERATION))
    this.#end(
      theirs.reduce((last, row) => (order(row) > order(last) ? row : last)),
      REFUSED,
    )
    return true
  }

  #end(waiter: number, state: number): void {
    this.#set(this.#at(waiter, STATE), state)
    this.#add(WAITING, -1)
    this.#touched.add(this.#get(this.#at(waiter, HOLDER)))
  }

  #counted(state: number, from: number, to: number): Map<bigint, number> {
    const counts = new Map<bigint, number>()
    for (const row of this.#rowsIn(state, from, to)) {
      const owner = this.#owner(row)
      counts.set(owner, (counts.get(owner) ?? 0) + 1)
    }
    return counts
  }

  #rowsIn(state: number, from: number, to: number): number[] {
    const rows: number[] = []
    for (let row = from; row < to; row++) if (this.#get(this.#at(row, STATE)) === state) rows.push(row)
    return rows
  }

  #firstFree(from: number, to: number): number | null {
    for (let row = from; row < to; row++) if (this.#get(this.#at(row, STATE)) === FREE) return row
    return null
  }

  #setRow(row: number, state: number, holder: number, owner: bigint): void {
    this.#set(this.#at(row, STATE), state)
    this.#set(this.#at(row, HOLDER), holder)
    this.#owners[row] = owner
  }

  #owner(row: number): bigint {
    return this.#owners[row] ?? 0n
  }

  #at(row: number, word: number): number {
    return HEAD_WORDS + row * ROW_WORDS + word
  }

  #tell(holder: number): void {
    this.#add(NEWS + holder, 1)
    Atomics.notify(this.#words, NEWS + holder)
  }

  #get(word: number): number {
    return Atomics.load(this.#words, word)
  }

  #set(word: number, value: number): void {
    Atomics.store(this.#words, word, value)
  }

  #add(word: number, amount: number): number {
    return Atomics.add(this.#words, word, amount)
  }
}
