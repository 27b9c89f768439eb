import { randomBytes } from 'node:crypto'

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

/** A row is free, a place that is taken, or one who waits, was admitted or refused. */
export const STATE = { free: 0, taken: 1, waits: 2, admitted: 3, refused: 4 } as const
export type RowState = (typeof STATE)[keyof typeof STATE]

/** Of all: how many run and wait, and the order of waiters. */
export type Count = 'running' | 'waiting' | 'order'
/** Of a row: its thread; of a place, how many have had it; of a waiter, its order and the place that it got. */
export type SlotField = 'holder' | 'generation' | 'got'

const LOCK = 0
const COUNTS: Readonly<Record<Count, number>> = { running: 1, waiting: 2, order: 3 }
const NEWS = 4
const HEAD_WORDS = NEWS + MOST_HOLDERS
const FIELDS: Readonly<Record<SlotField, number>> = { holder: 1, generation: 2, got: 3 }
const ROW_WORDS = 4
/** How long a thread sleeps before it looks at the lock again, should nobody wake it. */
const LOCK_MS = 5

/** The memory of places that threads share: rows, counts, a lock, and of each thread how much there is new for it. */
export class SlotRows {
  /** Rows of places come first, then those of waiters. */
  readonly places: number
  readonly rows: number
  readonly holder: number
  readonly #words: Int32Array
  readonly #owners: BigUint64Array
  /** Of each place from when on it is slow; before them when none was found slow last. */
  readonly #instants: Float64Array

  constructor({ memory, capacity, waiting, holder }: SlotTable) {
    this.places = capacity
    this.rows = rowsOf(capacity, waiting)
    this.holder = holder
    this.#owners = new BigUint64Array(memory, 0, this.rows)
    this.#instants = new Float64Array(memory, this.rows * 8, capacity + 1)
    this.#words = new Int32Array(memory, (this.rows + capacity + 1) * 8)
  }

  /** Memory for so many places, and for so many who wait. */
  static table(capacity: number, waiting: number): SlotTable {
    const rows = rowsOf(capacity, waiting)
    const memory = new SharedArrayBuffer((rows + capacity + 1) * 8 + (HEAD_WORDS + rows * ROW_WORDS) * 4)
    new Float64Array(memory, rows * 8, 1)[0] = Number.NEGATIVE_INFINITY
    return { memory, capacity, waiting, holder: 0, seed: randomBytes(16) }
  }

  /** Waits until no other thread changes rows. */
  lock(): void {
    const take = (): number => Atomics.compareExchange(this.#words, LOCK, 0, this.holder + 1)
    for (let found = take(); found !== 0; found = take()) Atomics.wait(this.#words, LOCK, found, LOCK_MS)
  }

  /** Gives the lock back, if that thread has it: one may have ended with it. */
  unlock(holder: number): void {
    const held = Atomics.compareExchange(this.#words, LOCK, holder + 1, 0) === holder + 1
    if (held) Atomics.notify(this.#words, LOCK, 1)
  }

  /** How often something was changed for this thread. */
  get news(): number {
    return Atomics.load(this.#words, NEWS + this.holder)
  }

  /** Resolves once there is more of it than was seen. */
  async told(seen: number): Promise<void> {
    await Atomics.waitAsync(this.#words, NEWS + this.holder, seen).value
  }

  tell(holder: number): void {
    Atomics.add(this.#words, NEWS + holder, 1)
    Atomics.notify(this.#words, NEWS + holder)
  }

  count(name: Count): number {
    return Atomics.load(this.#words, COUNTS[name])
  }

  /** Returns what it was before. */
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

  /** When none was found slow last. */
  get vainSearch(): number {
    return this.#instants[0] ?? 0
  }

  set vainSearch(instant: number) {
    this.#instants[0] = instant
  }

  /** Rows in a state, places or waiters as that says. */
  all(state: RowState): number[] {
    const [from, to] = this.#range(state)
    const rows: number[] = []
    for (let row = from; row < to; row++) if (this.state(row) === state) rows.push(row)
    return rows
  }

  /** The same, counted by owner. */
  byOwner(state: RowState): Map<bigint, number> {
    const counts = new Map<bigint, number>()
    for (const row of this.all(state)) counts.set(this.owner(row), (counts.get(this.owner(row)) ?? 0) + 1)
    return counts
  }

  /** A row to be filled for a place or a waiter, as the state says; null if there is none. */
  free(state: RowState): number | null {
    const [from, to] = this.#range(state)
    for (let row = from; row < to; row++) if (this.state(row) === STATE.free) return row
    return null
  }

  #range(state: RowState): [from: number, to: number] {
    return state === STATE.taken ? [0, this.places] : [this.places, this.rows]
  }
}

/** A row of one who was let in, or refused, is free once its thread has looked: so there are more than may wait. */
function rowsOf(capacity: number, waiting: number): number {
  return 2 * (capacity + waiting)
}
