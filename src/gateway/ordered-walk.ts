import type { CID } from 'multiformats/cid'

/** How many blocks a fast reader gets read ahead; one that is slow gets a single one. */
const MOST_AHEAD = 4

/** What is known after looking at an item: what comes out of it, and what is to be looked at right after it. */
export interface Step<T> {
  output: readonly Uint8Array[]
  next: readonly T[]
}

export interface Walk<T> {
  /** The block that an item needs; null for none. */
  blockOf(item: T): CID | null
  /** Reads a block and checks its hash. */
  get(cid: CID): Promise<Uint8Array>
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
}

/**
 * Walks depth first and strictly in order, while the next blocks are already being read: as many as the reader keeps
 * up with. Any failure ends it, so what has come out is always right.
 */
export async function* walkInOrder<T>(first: readonly T[], walk: Walk<T>): AsyncGenerator<Uint8Array, void, undefined> {
  // The next entry is the last: an item is taken off, and what follows from it is put in its place.
  const entries = entriesOf(first)
  let ahead = 1
  for (let entry = entries.pop(); entry !== undefined; entry = entries.pop()) {
    const load = start(entry, walk)
    if (load !== null) {
      // A reader that always finds the next block waiting is the slower one and needs no more of them.
      ahead = load.arrived ? Math.max(1, ahead - 1) : Math.min(MOST_AHEAD, ahead + 1)
      for (const next of entries.slice(-ahead)) start(next, walk)
    }
    const { output, next } = walk.visit(entry.item, load === null ? null : await load.block)
    yield* output
    entries.push(...entriesOf(next))
  }
}

function entriesOf<T>(items: readonly T[]): Entry<T>[] {
  return items.map(item => ({ item, load: null })).reverse()
}

function start<T>(entry: Entry<T>, walk: Walk<T>): Load | null {
  const cid = walk.blockOf(entry.item)
  if (cid === null || entry.load !== null) return entry.load
  const load: Load = { block: walk.get(cid), arrived: false }
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
