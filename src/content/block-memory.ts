import { CHUNK_BYTES, type ChunkPool, chunkPool } from './block-threads.ts'

/** Minimum size in bytes of a block that gets a chunk of the pool. A chunk would waste memory on smaller blocks. */
const POOLED_BYTES = 128 * 1024

/**
 * Allocates memory for the blocks of one import. Large blocks get chunks of the pool, which threads can use without a
 * copy. Small blocks, and blocks larger than a chunk, get ordinary memory.
 */
export class BlockMemory {
  readonly #pool: ChunkPool
  readonly #signal: AbortSignal | undefined

  /** @param signal aborts a wait for a chunk of the pool */
  constructor(signal?: AbortSignal, pool: ChunkPool = chunkPool) {
    this.#signal = signal
    this.#pool = pool
  }

  /** Returns uninitialised memory. The caller fills the memory, then calls {@link settle} or {@link release}. */
  take(length: number): Buffer {
    return (isPooled(length) ? this.#pool.spare(length) : null) ?? Buffer.allocUnsafe(length)
  }

  /**
   * Returns the filled bytes. Copies a large block to a chunk of the pool, unless the block is already in a chunk. The
   * copy may wait until a chunk is free. The result is valid until {@link release}.
   */
  async settle(filled: Uint8Array): Promise<Uint8Array> {
    if (!isPooled(filled.length) || filled.buffer instanceof SharedArrayBuffer) return filled
    return this.#pool.move(filled, this.#signal)
  }

  /** Releases memory. The caller must not read the bytes afterwards. */
  release(bytes: Uint8Array): void {
    this.#pool.release(bytes)
  }
}

function isPooled(length: number): boolean {
  return length >= POOLED_BYTES && length <= CHUNK_BYTES
}
