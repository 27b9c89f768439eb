import { PAGED_BYTES, pageMemory } from '../../concurrency/capacity/page-memory.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'

/** Maximum number of blocks that a walk reads ahead for a fast reader. A slow reader gets one or none. */
const MOST_AHEAD = 4

export interface Step<T> {
  output?: readonly Uint8Array[] | AsyncIterable<Uint8Array>
  /** Items to visit directly after the current item. */
  next?: Iterable<T>
  /** Bytes of memory that `next` occupies until it is exhausted. */
  bytes?: number
}

export interface Walk<T, B> {
  /** Starts to read the block of an item. Returns null if the item needs no block. */
  read(item: T): Promise<B> | null
  visit(item: T, block: B | null): Step<T>
  /** Releases a block that was read ahead but is not visited. */
  drop?(block: B): void
}

export interface WalkMeans {
  readonly budget: WalkBudget
  readonly spareReads: SpareReads
}

interface Entry<T, B> {
  item: T
  load: Load<B> | null
}

interface Load<B> {
  block: Promise<B>
  arrived: boolean
  /** True while the block counts as read ahead. */
  isAhead: boolean
}

interface Level<T, B> {
  items: Iterator<T>
  /** Entries already taken from `items` but not visited yet. */
  waiting: Entry<T, B>[]
  bytes: number
}

/**
 * Walks a tree depth first, strictly in order, and reads the next blocks ahead. Any failure ends the walk, so the
 * output never contains wrong bytes.
 */
export async function* walkInOrder<T, B>(
  { budget, spareReads }: WalkMeans,
  first: Iterable<T>,
  walk: Walk<T, B>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const levels: Level<T, B>[] = [{ items: first[Symbol.iterator](), waiting: [], bytes: 0 }]
  // The first block raises this number to 0. Every reader must wait for that block, so the wait does not show a fast
  // reader.
  let ahead = -1
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const entry = level.waiting.shift() ?? take(level)
      if (entry === null) {
        budget.leave(level.bytes)
        levels.pop()
        continue
      }
      const turn = budget.step()
      if (turn !== null) await turn
      const load = start(walk, entry)
      if (load !== null) {
        // If the next block has already arrived, the reader is slower than the disk.
        ahead = load.arrived ? Math.max(0, ahead - 1) : Math.min(MOST_AHEAD, ahead + 1)
        giveBack(spareReads, load)
        startAhead(spareReads, walk, levels, ahead)
      }
      const { output = [], next, bytes = 0 } = walk.visit(entry.item, load === null ? null : await load.block)
      yield* output
      if (next === undefined) continue
      budget.enter(bytes)
      levels.push({ items: next[Symbol.iterator](), waiting: [], bytes })
    }
  } finally {
    for (const { waiting, bytes } of levels) {
      budget.leave(bytes)
      for (const { load } of waiting) {
        if (load === null) continue
        giveBack(spareReads, load)
        if (walk.drop !== undefined) load.block.then(walk.drop, () => undefined)
      }
    }
  }
}

function take<T, B>({ items }: Level<T, B>): Entry<T, B> | null {
  const { done, value } = items.next()
  return done === true ? null : { item: value, load: null }
}

function startAhead<T, B>(spareReads: SpareReads, walk: Walk<T, B>, levels: Level<T, B>[], count: number): void {
  let left = count
  // The blocks of levels further up are not needed soon.
  for (const level of levels.slice(-MOST_AHEAD).reverse()) {
    for (let index = 0; left > 0; index++, left--) {
      const entry = level.waiting[index] ?? take(level)
      if (entry === null) break
      if (index === level.waiting.length) level.waiting.push(entry)
      if (entry.load !== null) continue
      if (!spareReads.take()) return
      const load = start(walk, entry)
      if (load === null) spareReads.give()
      else load.isAhead = true
    }
  }
}

function giveBack(spareReads: SpareReads, load: Load<unknown>): void {
  if (load.isAhead) spareReads.give()
  load.isAhead = false
}

function start<T, B>(walk: Walk<T, B>, entry: Entry<T, B>): Load<B> | null {
  if (entry.load !== null) return entry.load
  const block = walk.read(entry.item)
  if (block === null) return null
  const load: Load<B> = { block, arrived: false, isAhead: false }
  block.then(
    () => {
      load.arrived = true
    },
    // The visit of the entry reports the error. After the walk has ended, nothing needs the error.
    () => undefined,
  )
  entry.load = load
  return load
}

/** Maximum number of blocks and entries that one response visits, including repeated visits. */
const MOST_STEPS = 10_000_000
/** Maximum total size in bytes of the blocks whose items the walk has not finished. */
const MOST_OPEN_BYTES = 64 * 1024 ** 2

export interface WalkLimits {
  steps?: number
  openBytes?: number
}

/** Limits the cost of one response. A few small blocks can describe more entries or bytes than a node can ever send. */
export class WalkBudget {
  readonly #signal: AbortSignal
  #steps: number
  #openBytes: number

  constructor(signal: AbortSignal, { steps = MOST_STEPS, openBytes = MOST_OPEN_BYTES }: WalkLimits = {}) {
    this.#signal = signal
    this.#steps = steps
    this.#openBytes = openBytes
  }

  within(steps: number): WalkBudget {
    return new WalkBudget(this.#signal, { steps: Math.min(steps, this.#steps), openBytes: this.#openBytes })
  }

  /**
   * Counts one step. Returns a promise if the caller must yield to the event loop first.
   *
   * @throws HoldfastError `DIRECTORY_TOO_LARGE` if no step is left. The promise rejects with the reason of the signal.
   */
  step(): Promise<void> | null {
    if (this.#steps-- <= 0) throw tooLarge('it has too many parts, repeats included')
    return this.turn()
  }

  /**
   * Yields to the event loop like {@link step}, but counts no step. Only for work that the size of the input limits.
   */
  turn(): Promise<void> | null {
    return turnSpent() ? nextTurn(this.#signal) : null
  }

  /**
   * Counts a block that stays in memory until {@link leave}.
   *
   * @throws HoldfastError `DIRECTORY_TOO_LARGE` if the open blocks exceed the limit
   */
  enter(bytes: number): void {
    this.#openBytes -= bytes
    if (this.#openBytes < 0) throw tooLarge('it nests too many large blocks')
  }

  leave(bytes: number): void {
    this.#openBytes += bytes
  }
}

function tooLarge(reason: string): HoldfastError {
  return new HoldfastError('DIRECTORY_TOO_LARGE', `content is too large for one answer: ${reason}`)
}

/** Limits the number of blocks that all readers together read ahead. */
export class SpareReads {
  readonly #hasRoom: () => boolean
  #left: number

  /** @param hasRoom returns false while memory is too scarce to read ahead */
  constructor(blocks: number, hasRoom = (): boolean => true) {
    this.#left = blocks
    this.#hasRoom = hasRoom
  }

  /** Reserves one read, if one is available. The caller calls {@link give} once the block is used or dropped. */
  take(): boolean {
    if (this.#left === 0 || !this.#hasRoom()) return false
    this.#left--
    return true
  }

  give(): void {
    this.#left++
  }
}

const owned = new WeakSet<ArrayBufferLike>()

/**
 * Allows {@link freeMemory} to free the memory of a block, to which nothing else may refer. Without explicit freeing,
 * the garbage collector takes half of the CPU time of a stream of large blocks.
 */
export function giveAway(block: Uint8Array): Uint8Array {
  if (block.length >= PAGED_BYTES && block.length === block.buffer.byteLength) owned.add(block.buffer)
  return block
}

/** Frees the memory of a chunk, which is empty afterwards. */
export function freeMemory(chunk: Uint8Array): void {
  const { buffer } = chunk
  if (buffer instanceof ArrayBuffer && owned.delete(buffer)) pageMemory.give(buffer)
}
