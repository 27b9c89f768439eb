/** What one chunk of the pool holds: that of the profile `unixfs-v1-2025` (IPIP-499), and any block but the rarest. */
export const CHUNK_BYTES = 1024 ** 2
/** Several uploads at full speed, each with a window of eight chunks on their way and as many being hashed. */
const CHUNKS = 64

interface Waiting {
  give: (chunk: SharedArrayBuffer) => void
}

/**
 * Shared memory that threads can take without a copy. Shared memory that a thread has seen is not given back to the
 * system while the thread lives, so it is made once and used again: never more than `capacity` chunks exist.
 *
 * A chunk is known by the view that was handed out, and comes back once: a second release of the same view, or that of
 * other memory, does nothing.
 */
export class ChunkPool {
  readonly #capacity: number
  readonly #free: SharedArrayBuffer[] = []
  /** The view that each chunk was handed out as. */
  readonly #out = new Map<ArrayBufferLike, Uint8Array>()
  /** In the order of asking; an upload asks for one at a time, so they take turns. */
  readonly #waiting = new Set<Waiting>()
  #made = 0

  /** @param capacity chunks of {@link CHUNK_BYTES} that there may be */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Chunks that exist. */
  get made(): number {
    return this.#made
  }

  /** Chunks that have been handed out and have not come back. */
  get outstanding(): number {
    return this.#out.size
  }

  /** Those who wait for a chunk. */
  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * A chunk to be filled by a source of any pace; null while half of them are out, so that slow sources never keep
   * all of them. Whoever gets null fills memory of its own, and has it moved by {@link move} when it is whole.
   *
   * @param length of the view, at most {@link CHUNK_BYTES}
   */
  spare(length: number = CHUNK_BYTES): Buffer | null {
    if (this.#waiting.size > 0 || this.#out.size * 2 >= this.#capacity) return null
    return this.#hand(this.#take(), length)
  }

  /** Copies bytes into a chunk, once there is one. @throws the signal's reason */
  async move(bytes: Uint8Array, signal?: AbortSignal): Promise<Buffer> {
    const isFree = this.#waiting.size === 0 && this.#out.size < this.#capacity
    const chunk = isFree ? this.#hand(this.#take(), bytes.length) : await this.#next(bytes.length, signal)
    chunk.set(bytes)
    return chunk
  }

  /** Takes a chunk back; nothing may read or write it afterwards. */
  release(chunk: Uint8Array): void {
    const { buffer } = chunk
    if (this.#out.get(buffer) !== chunk || !(buffer instanceof SharedArrayBuffer)) return
    this.#out.delete(buffer)
    const [next] = this.#waiting
    if (next === undefined) this.#free.push(buffer)
    else next.give(buffer)
  }

  #take(): SharedArrayBuffer {
    const free = this.#free.pop()
    if (free !== undefined) return free
    this.#made++
    return new SharedArrayBuffer(CHUNK_BYTES)
  }

  #hand(memory: SharedArrayBuffer, length: number): Buffer {
    const chunk = Buffer.from(memory, 0, length)
    this.#out.set(memory, chunk)
    return chunk
  }

  #next(length: number, signal?: AbortSignal): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason)
      const leave = (): void => {
        this.#waiting.delete(waiting)
        signal?.removeEventListener('abort', onAbort)
      }
      const onAbort = (): void => {
        leave()
        reject(signal?.reason)
      }
      const waiting: Waiting = {
        give: memory => {
          leave()
          resolve(this.#hand(memory, length))
        },
      }
      this.#waiting.add(waiting)
      signal?.addEventListener('abort', onAbort)
    })
  }
}

/** The one pool of the process: what threads have seen stays, whichever engine they belong to. */
export const chunkPool = new ChunkPool(CHUNKS)

/** Bytes of memory that a block keeps while it is on its way: a chunk is kept whole, however little of it is used. */
export function memoryOf({ buffer, length }: Uint8Array): number {
  return buffer instanceof SharedArrayBuffer ? buffer.byteLength : length
}

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
