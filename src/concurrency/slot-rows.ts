import { randomBytes } from 'node:crypto'

/** Memory of shared slots, as one thread sees it. */
export interface SlotTable {
  memory: SharedArrayBuffer
  capacity: number
  /** Most slots of one owner; null for no limit. */
  perOwner: number | null
  waiting: number
  /** Number of the thread, from 0; unique among live threads. */
  holder: number
  /** Keeps clients from choosing names that look like another's. */
  seed: Uint8Array
}

/** Most threads that may share slots, the first one included. */
export const MOST_HOLDERS = 64

/** States of a row: free, a taken slot, or a request that waits, was admitted or was refused. */
export const STATE = { free: 0, taken: 1, waits: 2, admitted: 3, refused: 4 } as const
export type RowState = (typeof STATE)[keyof typeof STATE]

/** Counters of the table: running slots, waiting requests, and the order of the next request. */
export type Count = 'running' | 'waiting' | 'order'
/**
 * Fields of a row. `generation` counts the uses of a slot or orders requests. `got` is the slot that a request
 * got.
 */
export type SlotField = 'holder' | 'generation' | 'got'

const LOCK = 0
const COUNTS: Readonly<Record<Count, number>> = { running: 1, waiting: 2, order: 3 }
const NEWS = 4
const HEAD_WORDS = NEWS + MOST_HOLDERS
const FIELDS: Readonly<Record<SlotField, number>> = { holder: 1, generation: 2, got: 3 }
const ROW_WORDS = 4
/** Interval at which a thread tries the lock again, should no other thread wake it. */
const LOCK_MS = 5

/** Memory of shared slots: rows, counters, a lock, and a counter of changes for each thread. */
export class SlotRows {
  /** Rows of slots come first, then those of requests. */
  readonly places: number
  readonly rows: number
  readonly holder: number
  readonly #words: Int32Array
  readonly #owners: BigUint64Array
  /** Instant from which each slot is slow; before them, the last search that found none. */
  readonly #instants: Float64Array

  constructor({ memory, capacity, waiting, holder }: SlotTable) {
    this.places = capacity
    this.rows = rowsOf(capacity, waiting)
    this.holder = holder
    this.#owners = new BigUint64Array(memory, 0, this.rows)
    this.#instants = new Float64Array(memory, this.rows * 8, capacity + 1)
    this.#words = new Int32Array(memory, (this.rows + capacity + 1) * 8)
  }

  /** Makes the memory for so many slots and waiting requests. */
  static table({ capacity, perOwner, waiting }: Pick<SlotTable, 'capacity' | 'perOwner' | 'waiting'>): SlotTable {
    const rows = rowsOf(capacity, waiting)
    const memory = new SharedArrayBuffer((rows + capacity + 1) * 8 + (HEAD_WORDS + rows * ROW_WORDS) * 4)
    new Float64Array(memory, rows * 8, 1)[0] = Number.NEGATIVE_INFINITY
    return { memory, capacity, perOwner, waiting, holder: 0, seed: randomBytes(16) }
  }

  /** Takes the lock, and waits for it if need be. */
  lock(): void {
    const take = (): number => Atomics.compareExchange(this.#words, LOCK, 0, this.holder + 1)
    for (let found = take(); found !== 0; found = take()) Atomics.wait(this.#words, LOCK, found, LOCK_MS)
  }

  /** Releases the lock if that thread holds it, as it may when it has ended. */
  unlock(holder: number): void {
    const held = Atomics.compareExchange(this.#words, LOCK, holder + 1, 0) === holder + 1
    if (held) Atomics.notify(this.#words, LOCK, 1)
  }

  /** Number of changes that affect this thread. */
  get changes(): number {
    return Atomics.load(this.#words, NEWS + this.holder)
  }

  /** Resolves once there are more changes than `seen`. */
  async changedSince(seen: number): Promise<void> {
    await Atomics.waitAsync(this.#words, NEWS + this.holder, seen).value
  }

  tell(holder: number): void {
    Atomics.add(this.#words, NEWS + holder, 1)
    Atomics.notify(this.#words, NEWS + holder)
  }

  count(name: Count): number {
    return Atomics.load(this.#words, COUNTS[name])
  }

  /** Adds to a counter, and returns its old value. */
  add(name: Count, amount: number): number {
    return Atomics.add(this.#words, COUNTS[name], amount)
  }

  state(row: number): RowState {
    return Atomics.load(this.#words, HEAD_WORDS + row * ROW_WORDS) as RowState
  }

  setState(row: number, state: RowState): void {
    Atomics.store(this.#words, HEAD_WORDS + row * ROW_WORDS, state)
  }

  get(row: number, field: SlotField): number {
    return Atomics.load(this.#words, HEAD_WORDS + row * ROW_WORDS + FIELDS[field])
  }

  set(row: number, field: SlotField, value: number): void {
    Atomics.store(this.#words, HEAD_WORDS + row * ROW_WORDS + FIELDS[field], value)
  }

  owner(row: number): bigint {
    return this.#owners[row] ?? 0n
  }

  /** Fills a free row. */
  fill(row: number, state: RowState, holder: number, owner: bigint): void {
    this.setState(row, state)
    this.set(row, 'holder', holder)
    this.#owners[row] = owner
  }

  slowAt(place: number): number {
    return this.#instants[place + 1] ?? 0
  }

  setSlowAt(place: number, instant: number): void {
    this.#instants[place + 1] = instant
  }

  /** Instant of the last search that found no slow slot. */
  get vainSearch(): number {
    return this.#instants[0] ?? 0
  }

  set vainSearch(instant: number) {
    this.#instants[0] = instant
  }

  /** Returns the rows in a state, whose kind decides between slots and requests. */
  all(state: RowState): number[] {
    const [from, to] = this.#range(state)
    const rows: number[] = []
    for (let row = from; row < to; row++) if (this.state(row) === state) rows.push(row)
    return rows
  }

  /** Counts the rows in a state by owner. */
  byOwner(state: RowState): Map<bigint, number> {
    const counts = new Map<bigint, number>()
    for (const row of this.all(state)) counts.set(this.owner(row), (counts.get(this.owner(row)) ?? 0) + 1)
    return counts
  }

  /** Counts the slots of one owner. Low rows are filled first, so few are searched while few are taken. */
  takenBy(owner: bigint): number {
    let count = 0
    let left = this.count('running')
    for (let row = 0; row < this.places && left > 0; row++) {
      if (this.state(row) !== STATE.taken) continue
      left--
      if (this.owner(row) === owner) count++
    }
    return count
  }

  /** Returns a free row for a slot or a request, as the state says; null if there is none. */
  free(state: RowState): number | null {
    const [from, to] = this.#range(state)
    for (let row = from; row < to; row++) if (this.state(row) === STATE.free) return row
    return null
  }

  #range(state: RowState): [from: number, to: number] {
    return state === STATE.taken ? [0, this.places] : [this.places, this.rows]
  }
}

/**
 * A request's row stays in use until its thread has seen the outcome, so there are more rows than places in the queue.
 */
function rowsOf(capacity: number, waiting: number): number {
  return 2 * (capacity + waiting)
}
