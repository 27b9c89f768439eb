import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'

/** How many blocks a fast reader gets read ahead, if there is room; one that is slow gets none or one. */
const MOST_AHEAD = 4

/** What is known after looking at an item. */
export interface Step<T> {
  output?: readonly Uint8Array[]
  /** What is to be looked at right after it, made as it is reached. */
  next?: Iterable<T>
  /** How much memory `next` keeps until it is through. */
  bytes?: number
}

/** `B` is what is read for an item. */
export interface Walk<T, B> {
  /** Begins to read what an item needs; null for nothing. */
  read(item: T): Promise<B> | null
  /** `block` is null where nothing was read. */
  visit(item: T, block: B | null): Step<T>
}

/** What bounds a walk. */
export interface WalkMeans {
  /** What is left of what it may cost. */
  readonly budget: WalkBudget
  /** What bounds reading more than is asked for. */
  readonly spareReads: SpareReads
}

interface Entry<T, B> {
  item: T
  load: Load<B> | null
}

interface Load<B> {
  block: Promise<B>
  arrived: boolean
  /** Whether it counts as read ahead. */
  isAhead: boolean
}

/** What follows from one item. */
interface Level<T, B> {
  items: Iterator<T>
  /** Taken from `items` already. */
  waiting: Entry<T, B>[]
  bytes: number
}

/**
 * Walks depth first and strictly in order, while the next blocks are already being read: as many as the reader keeps
 * up with. Any failure ends it, so what has come out is always right.
 */
export async function* walkInOrder<T, B>(
  { budget, spareReads }: WalkMeans,
  first: Iterable<T>,
  walk: Walk<T, B>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const levels: Level<T, B>[] = [{ items: first[Symbol.iterator](), waiting: [], bytes: 0 }]
  // The very first block has to be waited for, whoever reads.
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
        // A reader that always finds the next block waiting is the slower one and needs no more of them.
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
      for (const { load } of waiting) if (load !== null) giveBack(spareReads, load)
    }
  }
}

/** The next entry of a level; null at its end. */
function take<T, B>({ items }: Level<T, B>): Entry<T, B> | null {
  const { done, value } = items.next()
  return done === true ? null : { item: value, load: null }
}

/** Begins to read what the next `count` entries need. */
function startAhead<T, B>(spareReads: SpareReads, walk: Walk<T, B>, levels: Level<T, B>[], count: number): void {
  let left = count
  // Further up there is nothing that is needed soon.
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
    // Whoever takes the entry sees the error; a walk that was ended early leaves nobody to see it.
    () => undefined,
  )
  entry.load = load
  return load
}

/** Blocks and entries that one answer looks at, each as often as its DAG repeats it. */
const MOST_STEPS = 10_000_000
/** Bytes of the blocks that a walk is inside of at a time. */
const MOST_OPEN_BYTES = 64 * 1024 ** 2

export interface WalkLimits {
  steps?: number
  openBytes?: number
}

/**
 * What one answer may cost, whatever the DAG is like that it is made from: a few small blocks can stand for more
 * entries, or more bytes, than there will ever be time for.
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

  /** Another budget for part of the work, of no more than so many steps. */
  within(steps: number): WalkBudget {
    return new WalkBudget(this.#signal, { steps: Math.min(steps, this.#steps), openBytes: this.#openBytes })
  }

  /**
   * Counts one more step. Null, or a promise to wait for because the event loop has been held for long enough.
   *
   * @throws HoldfastError `DIRECTORY_TOO_LARGE` if there have been too many. The promise rejects with the signal's
   * reason.
   */
  step(): Promise<void> | null {
    if (this.#steps-- <= 0) throw tooLarge('it has more parts, counted as often as they occur')
    return this.turn()
  }

  /** As {@link step}, for work that the size of what has been read bounds already. */
  turn(): Promise<void> | null {
    return turnSpent() ? nextTurn(this.#signal) : null
  }

  /**
   * Notes that a walk has gone into a block, and keeps it.
   *
   * @throws HoldfastError `DIRECTORY_TOO_LARGE` if too much is kept.
   */
  enter(bytes: number): void {
    this.#openBytes -= bytes
    if (this.#openBytes < 0) throw tooLarge('it nests more large blocks')
  }

  /** Notes that it has come out again. */
  leave(bytes: number): void {
    this.#openBytes += bytes
  }
}

function tooLarge(reason: string): HoldfastError {
  return new HoldfastError('DIRECTORY_TOO_LARGE', `content is too large for one answer: ${reason} than are followed`)
}

/** How many blocks all readers together may have waiting that nobody has asked for yet. */
export class SpareReads {
  #left: number

  constructor(blocks: number) {
    this.#left = blocks
  }

  /** Whether one more may be read; who may gives it back when it is used, or not needed after all. */
  take(): boolean {
    if (this.#left === 0) return false
    this.#left--
    return true
  }

  give(): void {
    this.#left++
  }
}

/** Less than this is not worth the trouble. */
const WORTH_BYTES = 64 * 1024

const owned = new WeakSet<ArrayBufferLike>()

/**
 * Notes that the memory of a block belongs to whoever the block is sent to: it was read for this one answer, and
 * nothing else refers to it. The garbage collector comes round by the megabytes that are allocated and then looks at
 * everything; on a stream of large blocks that is half of the work, which freeing them by hand saves.
 */
export function giveAway(block: Uint8Array): Uint8Array {
  if (block.length >= WORTH_BYTES && block.length === block.buffer.byteLength) owned.add(block.buffer)
  return block
}

/** Frees the memory below a chunk if it was given away; the chunk is empty then. */
export function freeMemory(chunk: Uint8Array): void {
  const { buffer } = chunk
  if (buffer instanceof ArrayBuffer && owned.delete(buffer)) buffer.transfer(0)
}
