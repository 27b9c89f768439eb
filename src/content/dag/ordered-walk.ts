import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'

/** Limit of blocks read ahead for a fast reader, if there is room; a slow one gets none or one. */
const MOST_AHEAD = 4

/** Result of a visit. */
export interface Step<T> {
  output?: readonly Uint8Array[] | AsyncIterable<Uint8Array>
  /** Items to visit right after this one, created on request. */
  next?: Iterable<T>
  /** Memory that `next` keeps until it ends. */
  bytes?: number
}

/** `B` is the type of the block read for an item. */
export interface Walk<T, B> {
  /** Starts to read the block of an item; null if it needs none. */
  read(item: T): Promise<B> | null
  /** Visits an item; `block` is null if nothing was read. */
  visit(item: T, block: B | null): Step<T>
  /** Releases a block that is not visited. */
  drop?(block: B): void
}

/** Limits of a walk. */
export interface WalkMeans {
  /** Remaining cost limit. */
  readonly budget: WalkBudget
  /** Limit for blocks read ahead. */
  readonly spareReads: SpareReads
}

interface Entry<T, B> {
  item: T
  load: Load<B> | null
}

interface Load<B> {
  block: Promise<B>
  arrived: boolean
  /** True while it counts as read ahead. */
  isAhead: boolean
}

/** The items that follow from one item. */
interface Level<T, B> {
  items: Iterator<T>
  /** Entries already taken from `items`. */
  waiting: Entry<T, B>[]
  bytes: number
}

/**
 * Walks depth first and strictly in order, and reads the next blocks ahead: as many as the reader keeps up with. Any
 * failure ends it, so all output is correct.
 */
export async function* walkInOrder<T, B>(
  { budget, spareReads }: WalkMeans,
  first: Iterable<T>,
  walk: Walk<T, B>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const levels: Level<T, B>[] = [{ items: first[Symbol.iterator](), waiting: [], bytes: 0 }]
  // Every reader has to wait for the first block, so its wait does not count.
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
        // A reader that always finds the next block waiting is the slower one, and needs fewer of them.
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

/** Returns the next entry of a level; null at its end. */
function take<T, B>({ items }: Level<T, B>): Entry<T, B> | null {
  const { done, value } = items.next()
  return done === true ? null : { item: value, load: null }
}

/** Starts to read the blocks of the next `count` entries. */
function startAhead<T, B>(spareReads: SpareReads, walk: Walk<T, B>, levels: Level<T, B>[], count: number): void {
  let left = count
  // Levels further up are not needed soon.
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
    // The consumer of the entry gets the error; an ended walk has no consumer.
    () => undefined,
  )
  entry.load = load
  return load
}

/** Limit of blocks and entries that one answer visits, each counted as often as its DAG repeats it. */
const MOST_STEPS = 10_000_000
/** Limit for the total bytes of the blocks that a walk is within. */
const MOST_OPEN_BYTES = 64 * 1024 ** 2

export interface WalkLimits {
  steps?: number
  openBytes?: number
}

/**
 * Cost limit of one answer, for any DAG: a few small blocks can stand for more entries or bytes than could ever be
 * sent.
 */
export class WalkBudget {
  readonly #signal: AbortSignal
  #steps: number
  #openBytes: number

  constructor(signal: AbortSignal, { steps = MOST_STEPS, openBytes = MOST_OPEN_BYTES }: WalkLimits = {}) {
    this.#signal = signal
    this.#steps = steps
    this.#openBytes = openBytes
  }

  /** Returns another budget, for a part of the work with at most `steps`. */
  within(steps: number): WalkBudget {
    return new WalkBudget(this.#signal, { steps: Math.min(steps, this.#steps), openBytes: this.#openBytes })
  }

  /**
   * Counts one step. Returns null, or a promise to await because the turn of the event loop is spent.
   *
   * @throws HoldfastError `DIRECTORY_TOO_LARGE` over the limit. The promise rejects with the signal's reason.
   */
  step(): Promise<void> | null {
    if (this.#steps-- <= 0) throw tooLarge('it has too many parts, repeats included')
    return this.turn()
  }

  /** Gives turns like {@link step}, for work that the size of the input already limits. */
  turn(): Promise<void> | null {
    return turnSpent() ? nextTurn(this.#signal) : null
  }

  /**
   * Counts a block that the walk enters and keeps.
   *
   * @throws HoldfastError `DIRECTORY_TOO_LARGE` if too much is kept.
   */
  enter(bytes: number): void {
    this.#openBytes -= bytes
    if (this.#openBytes < 0) throw tooLarge('it nests too many large blocks')
  }

  /** Counts a block that the walk leaves. */
  leave(bytes: number): void {
    this.#openBytes += bytes
  }
}

function tooLarge(reason: string): HoldfastError {
  return new HoldfastError('DIRECTORY_TOO_LARGE', `content is too large for one answer: ${reason}`)
}

/** Limit, over all readers, of blocks that are read ahead. */
export class SpareReads {
  readonly #hasRoom: () => boolean
  #left: number

  /** @param hasRoom false while memory is too scarce to read ahead */
  constructor(blocks: number, hasRoom = (): boolean => true) {
    this.#left = blocks
    this.#hasRoom = hasRoom
  }

  /** Takes one read if there is one left. The caller calls {@link give} when the block is used or dropped. */
  take(): boolean {
    if (this.#left === 0 || !this.#hasRoom()) return false
    this.#left--
    return true
  }

  give(): void {
    this.#left++
  }
}

/** Smallest block worth freeing by hand. */
const WORTH_BYTES = 64 * 1024

const owned = new WeakSet<ArrayBufferLike>()

/**
 * Marks the memory of a block as owned by the consumer of the answer, since nothing else refers to it; {@link
 * freeMemory} may then free it. The garbage collector runs once per some megabytes allocated and scans all memory.
 * Freeing by hand saves that, which is half of the work on a stream of large blocks.
 */
export function giveAway(block: Uint8Array): Uint8Array {
  if (block.length >= WORTH_BYTES && block.length === block.buffer.byteLength) owned.add(block.buffer)
  return block
}

/** Frees the memory of a chunk if {@link giveAway} marked it; the chunk is then empty. */
export function freeMemory(chunk: Uint8Array): void {
  const { buffer } = chunk
  if (buffer instanceof ArrayBuffer && owned.delete(buffer)) buffer.transfer(0)
}
