import { randomBytes } from 'node:crypto'

export interface SlotTable {
  memory: SharedArrayBuffer
  capacity: number
  /** Null for no limit. */
  perOwner: number | null
  waiting: number
  /** Number of the thread, from 0. No other live thread has the same number. */
  holder: number
  /**
   * Random seed of the hashed owners, so that clients cannot choose names whose hashes collide with those of other
   * clients.
   */
  seed: Uint8Array
}

/** Maximum number of threads that may share slots, including the first one. */
export const MOST_HOLDERS = 64

/** A slot is free or taken. A request waits, was admitted or was refused. */
export const STATE = { free: 0, taken: 1, waits: 2, admitted: 3, refused: 4 } as const
export type RowState = (typeof STATE)[keyof typeof STATE]

/** `running` counts taken slots, `waiting` counts queued requests, and `order` numbers the requests. */
export type Count = 'running' | 'waiting' | 'order'
/**
 * For a slot, `generation` counts how often it was reused. For a request, `generation` is its number in the queue.
 * `got` is the slot that an admitted request received.
 */
export type SlotField = 'holder' | 'generation' | 'got'

const LOCK = 0
const COUNTS: Readonly<Record<Count, number>> = { running: 1, waiting: 2, order: 3 }
const NEWS = 4
const HEAD_WORDS = NEWS + MOST_HOLDERS
const FIELDS: Readonly<Record<SlotField, number>> = { holder: 1, generation: 2, got: 3 }
const ROW_WORDS = 4
/** Interval in ms at which a thread retries to take the lock if no other thread wakes it. */
const LOCK_MS = 5

/** Memory of shared slots: the rows, counters, a lock, and a counter of changes for each thread. */
export class SlotRows {
  /** Number of rows for slots. They precede the rows for requests. */
  readonly places: number
  readonly rows: number
  readonly holder: number
  readonly #words: Int32Array
  readonly #owners: BigUint64Array
  /** First the instant of the last search that found no slow slot, then the instants from which each slot is slow. */
  readonly #instants: Float64Array

  constructor({ memory, capacity, waiting, holder }: SlotTable) {
    this.places = capacity
    this.rows = rowsOf(capacity, waiting)
    this.holder = holder
    this.#owners = new BigUint64Array(memory, 0, this.rows)
    this.#instants = new Float64Array(memory, this.rows * 8, capacity + 1)
    this.#words = new Int32Array(memory, (this.rows + capacity + 1) * 8)
  }

  static table({ capacity, perOwner, waiting }: Pick<SlotTable, 'capacity' | 'perOwner' | 'waiting'>): SlotTable {
    const rows = rowsOf(capacity, waiting)
    const memory = new SharedArrayBuffer((rows + capacity + 1) * 8 + (HEAD_WORDS + rows * ROW_WORDS) * 4)
    new Float64Array(memory, rows * 8, 1)[0] = Number.NEGATIVE_INFINITY
    return { memory, capacity, perOwner, waiting, holder: 0, seed: randomBytes(16) }
  }

  lock(): void {
    const take = (): number => Atomics.compareExchange(this.#words, LOCK, 0, this.holder + 1)
    for (let found = take(); found !== 0; found = take()) Atomics.wait(this.#words, LOCK, found, LOCK_MS)
  }

  /** Releases the lock if the thread `holder` has it. A thread that has ended may still have it. */
  unlock(holder: number): void {
    const held = Atomics.compareExchange(this.#words, LOCK, holder + 1, 0) === holder + 1
    if (held) Atomics.notify(this.#words, LOCK, 1)
  }

  get changes(): number {
    return Atomics.load(this.#words, NEWS + this.holder)
  }

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

  /** Returns the counter's previous value. */
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

  get vainSearch(): number {
    return this.#instants[0] ?? 0
  }

  set vainSearch(instant: number) {
    this.#instants[0] = instant
  }

  all(state: RowState): number[] {
    const [from, to] = this.#range(state)
    const rows: number[] = []
    for (let row = from; row < to; row++) if (this.state(row) === state) rows.push(row)
    return rows
  }

  byOwner(state: RowState): Map<bigint, number> {
    const counts = new Map<bigint, number>()
    for (const row of this.all(state)) counts.set(this.owner(row), (counts.get(this.owner(row)) ?? 0) + 1)
    return counts
  }

  /** Low rows are filled first, so the search is short while few slots are taken. */
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
 * Returns more rows than slots and places in the queue, because a request's row stays in use until its thread has read
 * the outcome.
 */
function rowsOf(capacity: number, waiting: number): number {
  return 2 * (capacity + waiting)
}
