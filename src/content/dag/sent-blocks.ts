import { randomInt } from 'node:crypto'
import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../../domain/errors.ts'

/** Memory that all responses of a thread share. It has room for about two million blocks. */
const THREAD_BYTES = 64 * 1024 ** 2
/** Maximum share of the thread's memory for one response. */
const MOST_OF_IT = 0.5
const WORDS = 4
const SLOT_BYTES = WORDS * Uint32Array.BYTES_PER_ELEMENT
const FIRST_SLOTS = 256
/** Share of a table that may be filled, and the size of the next table relative to the last. */
const FILL = 0.6
const GROWTH = 2
/** Flag in the last word of a slot: all blocks below this block have been sent, too. */
const WHOLE = 0x8000_0000
const RETRY_SECONDS = 30

export class ByteBudget {
  readonly total: number
  #left: number

  constructor(total: number) {
    this.total = total
    this.#left = total
  }

  get left(): number {
    return this.#left
  }

  take(bytes: number): boolean {
    if (bytes > this.#left) return false
    this.#left -= bytes
    return true
  }

  give(bytes: number): void {
    this.#left += bytes
  }
}

const ofThread = new ByteBudget(THREAD_BYTES)

/**
 * Set of the blocks that a response has sent, identified by 126 bits of their hash. Each block takes 16 bytes of the
 * thread's budget. To grow, the set adds a table without rehashing, so no call is slow. The creator must call {@link
 * release}.
 */
export class SentBlocks {
  readonly #budget: ByteBudget
  /** Random key, so that clients cannot choose blocks whose slots collide. */
  readonly #key = randomInt(2 ** 32 - 1) | 1
  readonly #words = new Uint32Array(WORDS)
  /** Hash of the current block's words, which determines the block's first slot. */
  #mixed = 0
  #tables: Uint32Array[] = []
  #bytes = 0
  /** Number of slots of the newest table that may still be filled. */
  #room = 0

  /** @throws HoldfastError `UNAVAILABLE` if other responses have used up the budget */
  constructor(budget: ByteBudget = ofThread) {
    this.#budget = budget
    this.#grow()
  }

  /** Returns `whole` if all blocks below the block were sent, too. */
  has(cid: CID): 'alone' | 'whole' | null {
    this.#read(cid)
    const found = this.#find()
    if (found === null) return null
    return ((found.table[found.slot + WORDS - 1] ?? 0) & WHOLE) === 0 ? 'alone' : 'whole'
  }

  /** @throws HoldfastError `UNAVAILABLE` if the budget is used up */
  add(cid: CID, isWhole: boolean): void {
    this.#read(cid)
    let found = this.#find()
    if (found === null) {
      if (this.#room === 0) this.#grow()
      const table = this.#tables.at(-1) ?? new Uint32Array()
      found = { table, slot: this.#slotIn(table) }
      table.set(this.#words, found.slot)
      this.#room--
    }
    const last = found.slot + WORDS - 1
    if (isWhole) found.table[last] = (found.table[last] ?? 0) | WHOLE
  }

  release(): void {
    this.#budget.give(this.#bytes)
    this.#bytes = 0
    this.#tables = []
    this.#room = 0
  }

  #grow(): void {
    const slots = Math.ceil((this.#tables.at(-1)?.length ?? 0) / WORDS) * GROWTH || FIRST_SLOTS
    const bytes = Math.ceil(slots) * SLOT_BYTES
    if (this.#bytes + bytes > this.#budget.total * MOST_OF_IT || !this.#budget.take(bytes)) throw spent()
    this.#bytes += bytes
    this.#tables.push(new Uint32Array(bytes / Uint32Array.BYTES_PER_ELEMENT))
    this.#room = Math.floor(Math.ceil(slots) * FILL)
  }

  /**
   * Copies the first bytes of the hash to `#words`. Mixes in codec and version, which distinguish CIDs with the same
   * hash.
   */
  #read({ code, version, multihash: { digest } }: CID): void {
    const { length } = digest
    for (let word = 0; word < WORDS; word++) {
      const at = word * 4
      const high = at + 3 < length ? ((digest[at] ?? 0) << 24) | ((digest[at + 1] ?? 0) << 16) : 0
      const low = at + 3 < length ? ((digest[at + 2] ?? 0) << 8) | (digest[at + 3] ?? 0) : 0
      this.#words[word] = high | low
    }
    this.#words[0] = (this.#words[0] ?? 0) ^ (code * 2 + version)
    const first = this.#words[0] ?? 0
    const second = this.#words[1] ?? 0
    const mixed = Math.imul(first ^ this.#key, 0x9e3779b1) ^ Math.imul(second + this.#key, 0x85ebca6b)
    this.#mixed = (mixed ^ (mixed >>> 15)) >>> 0
    this.#words[WORDS - 1] = ((this.#words[WORDS - 1] ?? 0) & ~WHOLE) | 1
  }

  #find(): { table: Uint32Array; slot: number } | null {
    for (let index = this.#tables.length - 1; index >= 0; index--) {
      const table = this.#tables[index]
      if (table === undefined) continue
      const slot = this.#slotIn(table)
      if (table[slot + WORDS - 1] !== 0) return { table, slot }
    }
    return null
  }

  /** Returns the block's slot, or a free slot. A slot is free if its last word is 0. */
  #slotIn(table: Uint32Array): number {
    const slots = table.length / WORDS
    // Compare by index, because an iterator costs more than the search.
    const words = this.#words
    for (let place = this.#mixed % slots; ; place = (place + 1) % slots) {
      const slot = place * WORDS
      const found = table[slot + WORDS - 1] ?? 0
      if (found === 0) return slot
      if ((found & ~WHOLE) >>> 0 !== words[WORDS - 1] || table[slot] !== words[0]) continue
      if (table[slot + 1] === words[1] && table[slot + 2] === words[2]) return slot
    }
  }
}

function spent(): HoldfastError {
  const message = 'not enough memory for archives without duplicates; try again, or request car-dups=y'
  return new HoldfastError('UNAVAILABLE', message, { details: { retryAfter: RETRY_SECONDS } })
}
