import type { CID } from 'multiformats/cid'
import type { BlockReader } from './request-blocks.ts'

/** How many blocks a fast reader gets read ahead, if there is room; one that is slow gets none or one. */
const MOST_AHEAD = 4

/** What is known after looking at an item: what comes out of it, and what is to be looked at right after it. */
export interface Step<T> {
  output: readonly Uint8Array[]
  next: readonly T[]
}

export interface Walk<T> {
  /** The block that an item needs; null for none. */
  blockOf(item: T): CID | null
  /** `block` is null where {@link blockOf} is. */
  visit(item: T, block: Uint8Array | null): Step<T>
}

interface Entry<T> {
  item: T
  load: Load | null
}

interface Load {
  block: Promise<Uint8Array>
  arrived: boolean
  /** Whether it counts as read ahead. */
  isAhead: boolean
}

/**
 * Walks depth first and strictly in order, while the next blocks are already being read: as many as the reader keeps
 * up with. Any failure ends it, so what has come out is always right.
 */
export async function* walkInOrder<T>(
  blocks: BlockReader,
  first: readonly T[],
  walk: Walk<T>,
): AsyncGenerator<Uint8Array, void, undefined> {
  // The next entry is the last: an item is taken off, and what follows from it is put in its place.
  const entries = entriesOf(first)
  // The very first block has to be waited for, whoever reads.
  let ahead = -1
  try {
    for (let entry = entries.pop(); entry !== undefined; entry = entries.pop()) {
      const load = start(blocks, walk, entry)
      if (load !== null) {
        // A reader that always finds the next block waiting is the slower one and needs no more of them.
        ahead = load.arrived ? Math.max(0, ahead - 1) : Math.min(MOST_AHEAD, ahead + 1)
        giveBack(blocks, load)
        for (const next of entries.slice(Math.max(0, entries.length - ahead), entries.length)) {
          startAhead(blocks, walk, next)
        }
      }
      const { output, next } = walk.visit(entry.item, load === null ? null : await load.block)
      yield* output
      entries.push(...entriesOf(next))
    }
  } finally {
    for (const { load } of entries) if (load !== null) giveBack(blocks, load)
  }
}

function entriesOf<T>(items: readonly T[]): Entry<T>[] {
  return items.map(item => ({ item, load: null })).reverse()
}

function startAhead<T>(blocks: BlockReader, walk: Walk<T>, entry: Entry<T>): void {
  if (entry.load !== null || walk.blockOf(entry.item) === null || !blocks.readAhead.take()) return
  const load = start(blocks, walk, entry)
  if (load === null) blocks.readAhead.give()
  else load.isAhead = true
}

function giveBack(blocks: BlockReader, load: Load): void {
  if (load.isAhead) blocks.readAhead.give()
  load.isAhead = false
}

function start<T>(blocks: BlockReader, walk: Walk<T>, entry: Entry<T>): Load | null {
  const cid = walk.blockOf(entry.item)
  if (cid === null || entry.load !== null) return entry.load
  const load: Load = { block: blocks.get(cid), arrived: false, isAhead: false }
  load.block.then(
    () => {
      load.arrived = true
    },
    // Whoever takes the entry sees the error; a walk that was ended early leaves nobody to see it.
    () => undefined,
  )
  entry.load = load
  return load
}
