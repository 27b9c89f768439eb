import { CHUNK_BYTES, type ChunkPool, chunkPool } from './block-threads.ts'

/** Below this a block is not worth a chunk of the pool, which it would keep whole. */
const POOLED_BYTES = 128 * 1024

/**
 * Memory for the blocks of one import. That of larger ones comes from the pool, so that threads can take them without
 * a copy; only blocks that are larger than any chunk have memory of their own.
 */
export class BlockMemory {
  readonly #pool: ChunkPool
  readonly #signal: AbortSignal | undefined

  /** @param signal ends a wait for the pool */
  constructor(signal?: AbortSignal, pool: ChunkPool = chunkPool) {
    this.#signal = signal
    this.#pool = pool
  }

  /** Memory with nothing in particular in it, to be filled and then {@link settle}d, or given back by {@link release}. */
  take(length: number): Buffer {
    return (isPooled(length) ? this.#pool.spare(length) : null) ?? Buffer.allocUnsafe(length)
  }

  /** What was filled, where it is to stay until it is given back; may have to wait for the pool. */
  async settle(filled: Uint8Array): Promise<Uint8Array> {
    if (!isPooled(filled.length) || filled.buffer instanceof SharedArrayBuffer) return filled
    return this.#pool.move(filled, this.#signal)
  }

  /** Nothing may read the bytes afterwards. */
  release(bytes: Uint8Array): void {
    this.#pool.release(bytes)
  }
}

function isPooled(length: number): boolean {
  return length >= POOLED_BYTES && length <= CHUNK_BYTES
}
