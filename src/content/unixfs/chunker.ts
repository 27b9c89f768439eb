import { CHUNK_BYTES, type ChunkPool, chunkPool } from '../chunk-pool.ts'

/**
 * Cuts one file into chunks of exactly {@link CHUNK_BYTES} and a shorter last one. The source may reuse its buffers
 * as soon as the next piece is asked for. Whole chunks come from the pool, and whoever takes one gives it back by
 * {@link release} once its bytes are no longer needed; where the pool is exhausted the file waits its turn.
 */
export class Chunker {
  readonly #pool: ChunkPool
  readonly #signal: AbortSignal | undefined
  /** What a chunk is gathered in while the pool has none to spare. */
  #own: Buffer | null = null

  /** @param signal ends a wait for the pool */
  constructor(signal?: AbortSignal, pool: ChunkPool = chunkPool) {
    this.#signal = signal
    this.#pool = pool
  }

  async *chunks(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let chunk: Buffer = Buffer.alloc(0)
    let filled = 0
    let isEmpty = true
    try {
      for await (const bytes of source) {
        // A small file that comes in one piece is copied once, into a buffer of its own size.
        if (filled === 0 && bytes.length < CHUNK_BYTES) {
          chunk = Buffer.from(bytes)
          filled = bytes.length
          continue
        }
        for (let taken = 0; taken < bytes.length; ) {
          if (chunk.length < CHUNK_BYTES) chunk = this.#grown(chunk, filled)
          const length = Math.min(bytes.length - taken, CHUNK_BYTES - filled)
          chunk.set(length === bytes.length ? bytes : bytes.subarray(taken, taken + length), filled)
          taken += length
          filled += length
          if (filled < CHUNK_BYTES) continue
          const whole = chunk === this.#own ? await this.#pool.move(chunk, this.#signal) : chunk
          chunk = Buffer.alloc(0)
          filled = 0
          isEmpty = false
          yield whole
        }
      }
      // A file of no bytes is one chunk of none, or it would have no block at all.
      if (filled === 0 && !isEmpty) return
      // The last chunk may wait for the disk among thousands of others, so it does not keep a whole buffer alive.
      if (filled < chunk.length) {
        const last = Buffer.from(chunk.subarray(0, filled))
        this.#pool.release(chunk)
        chunk = last
      }
      yield chunk
    } finally {
      // Of a source that failed, or whose reader left. What has been yielded is the reader's.
      if (filled > 0) this.#pool.release(chunk)
    }
  }

  /** Gives a chunk back; nothing may read it afterwards. */
  release(chunk: Uint8Array): void {
    this.#pool.release(chunk)
  }

  #grown(chunk: Buffer, filled: number): Buffer {
    let whole = this.#pool.spare()
    if (whole === null) {
      this.#own ??= Buffer.allocUnsafeSlow(CHUNK_BYTES)
      whole = this.#own
    }
    whole.set(chunk.subarray(0, filled))
    return whole
  }
}
