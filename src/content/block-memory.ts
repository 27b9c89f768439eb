import { CHUNK_BYTES, type ChunkPool, chunkPool } from './block-threads.ts'

/** A chunk would waste memory on smaller blocks. */
const POOLED_BYTES = 128 * 1024

/**
 * Allocates memory for the blocks of one import. Large blocks get chunks of the pool, which threads can use without a
 * copy.
 */
export class BlockMemory {
  readonly #pool: ChunkPool
  readonly #signal: AbortSignal | undefined

  constructor(signal?: AbortSignal, pool: ChunkPool = chunkPool) {
    this.#signal = signal
    this.#pool = pool
  }

  /** Returns uninitialised memory. The caller fills the memory, then calls {@link settle} or {@link release}. */
  take(length: number): Buffer {
    return (isPooled(length) ? this.#pool.spare(length) : null) ?? Buffer.allocUnsafe(length)
  }

  /**
   * Returns the filled bytes, valid until {@link release}. May wait for a chunk of the pool, and copy a large block
   * into it.
   */
  async settle(filled: Uint8Array): Promise<Uint8Array> {
    if (!isPooled(filled.length) || filled.buffer instanceof SharedArrayBuffer) return filled
    return this.#pool.move(filled, this.#signal)
  }

  release(bytes: Uint8Array): void {
    this.#pool.release(bytes)
  }
}

function isPooled(length: number): boolean {
  return length >= POOLED_BYTES && length <= CHUNK_BYTES
}
