import type { CID } from 'multiformats/cid'
import type { MemoryBudget } from '../../concurrency/capacity/memory-budget.ts'
import { pageMemory } from '../../concurrency/capacity/page-memory.ts'
import type { Clock } from '../../domain/clock.ts'
import { freeMemory, giveAway } from '../dag/ordered-walk.ts'

export interface AnswerMeans {
  memory: MemoryBudget
  clock: Clock
  signal: AbortSignal
}

interface Source {
  get(cid: CID): Promise<Uint8Array>
  /** True if others may refer to the same bytes, so that their memory must stay. */
  isShared?: boolean
}

/** Sizes in bytes of one slice, which is the most memory that a stalled client occupies. */
const LARGEST_SLICE = 128 * 1024
const SMALLEST_SLICE = 16 * 1024
/** With so many slices, stalled clients occupy as much memory as the budget has. By default, half as many can connect. */
const SLICES = 2_048
/** Time in ms after which a client that reads nothing counts as stalled. */
const STALL_MS = 2_000
/** Time in ms after which a client counts as stalled if other responses wait for memory. */
const CROWDED_STALL_MS = 100

/**
 * A block that is being sent to a client, counted against the memory budget. While memory is scarce, the block is sent
 * in slices. A stalled client then occupies only one slice, and the block is read again when the client continues.
 */
export class StreamedBlock {
  readonly #source: Source
  readonly #means: AnswerMeans
  readonly #cid: CID
  readonly #size: number
  #bytes: Uint8Array | null = null

  private constructor(source: Source, means: AnswerMeans, cid: CID, size: number) {
    this.#source = source
    this.#means = means
    this.#cid = cid
    this.#size = size
  }

  /** Reads a block. The caller must call {@link drop}, or read the pieces to the end. */
  static async read(source: Source, means: AnswerMeans, cid: CID, size: number): Promise<StreamedBlock> {
    const block = new StreamedBlock(source, means, cid, size)
    await block.#load()
    return block
  }

  /** Continues with bytes that are already read. While memory is scarce, forgets them and reads them again in turn. */
  static async resume(source: Source, means: AnswerMeans, cid: CID, bytes: Uint8Array): Promise<StreamedBlock> {
    const block = new StreamedBlock(source, means, cid, bytes.length)
    if (means.memory.isScarce) return block
    await means.memory.take(bytes.length, means.signal)
    block.#bytes = bytes
    return block
  }

  get length(): number {
    return this.#bytes?.length ?? this.#size
  }

  /** Yields a range of the block. If memory is plentiful, it is one piece, which the reader frees. */
  async *pieces(start: number, end: number): AsyncGenerator<Uint8Array, void, undefined> {
    const bytes = this.#bytes
    if (bytes === null || this.#means.memory.isScarce) return yield* this.#slices(start, end)
    try {
      yield (this.#source.isShared ? bytes : giveAway(bytes)).subarray(start, end)
    } finally {
      this.#forget()
    }
  }

  async *#slices(start: number, end: number): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      const size = sliceSize(this.#means.memory.limit)
      for (let from = start; from < end; from += size) {
        const to = Math.min(from + size, end)
        const slice = giveAway(pageMemory.take(to - from))
        slice.set((this.#bytes ?? (await this.#load())).subarray(from, to))
        if (to === end) this.drop()
        const cancel = this.#dropAtStall()
        try {
          yield slice
        } finally {
          cancel()
        }
      }
    } finally {
      this.drop()
    }
  }

  #dropAtStall(): () => void {
    const { clock, memory } = this.#means
    let cancel = clock.after(CROWDED_STALL_MS, () => {
      if (memory.isAwaited) this.drop()
      else cancel = clock.after(STALL_MS - CROWDED_STALL_MS, () => this.drop())
    })
    return () => cancel()
  }

  /** Frees the memory of a block that is not being sent. */
  drop(): void {
    if (this.#bytes !== null && !this.#source.isShared) freeMemory(giveAway(this.#bytes))
    this.#forget()
  }

  #forget(): void {
    if (this.#bytes === null) return
    this.#bytes = null
    this.#means.memory.give(this.#size)
  }

  async #load(): Promise<Uint8Array> {
    const { memory, signal } = this.#means
    await memory.take(this.#size, signal)
    try {
      this.#bytes = await this.#source.get(this.#cid)
      return this.#bytes
    } catch (error) {
      memory.give(this.#size)
      throw error
    }
  }
}

function sliceSize(limit: number): number {
  return Math.max(SMALLEST_SLICE, Math.min(LARGEST_SLICE, Math.floor(limit / SLICES)))
}
