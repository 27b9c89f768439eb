import { CHUNK_BYTES, type ChunkPool, chunkPool } from './block-threads.ts'

/** Smallest block for which a whole chunk of the pool is worth its memory. */
const POOLED_BYTES = 128 * 1024

/**
 * Memory for the blocks of one import. Larger blocks use the pool, so that threads can take them without a copy. Blocks
 * larger than a chunk have memory of their own.
 */
export class BlockMemory {
  readonly #pool: ChunkPool
  readonly #signal: AbortSignal | undefined

  /** @param signal ends a wait for the pool */
  constructor(signal?: AbortSignal, pool: ChunkPool = chunkPool) {
    this.#signal = signal
    this.#pool = pool
  }

  /** Returns uninitialised memory. The caller fills it, then calls {@link settle} or {@link release}. */
  take(length: number): Buffer {
    return (isPooled(length) ? this.#pool.spare(length) : null) ?? Buffer.allocUnsafe(length)
  }

  /** Returns filled memory in its final place, valid until {@link release}. May wait for the pool. */
  async settle(filled: Uint8Array): Promise<Uint8Array> {
    if (!isPooled(filled.length) || filled.buffer instanceof SharedArrayBuffer) return filled
    return this.#pool.move(filled, this.#signal)
  }

  /** Releases memory; nothing may read the bytes afterwards. */
  release(bytes: Uint8Array): void {
    this.#pool.release(bytes)
  }
}

function isPooled(length: number): boolean {
  return length >= POOLED_BYTES && length <= CHUNK_BYTES
}
