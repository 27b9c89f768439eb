/** The chunk size of the profile `unixfs-v1-2025` (IPIP-499). */
export const CHUNK_BYTES = 1024 ** 2

/**
 * Cuts one file into chunks of exactly {@link CHUNK_BYTES} and a shorter last one. The source may reuse its buffers
 * as soon as the next piece is asked for. Whoever takes a chunk gives it back by {@link release} once its bytes are
 * no longer needed: whole ones are filled again, which keeps memory flat and spares the kernel clearing new pages.
 * Whole chunks are shared memory, so that threads can take them without a copy.
 */
export class Chunker {
  readonly #free: Buffer[] = []

  async *chunks(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let chunk: Buffer = Buffer.alloc(0)
    let filled = 0
    let isEmpty = true
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
        yield chunk
        isEmpty = false
        chunk = Buffer.alloc(0)
        filled = 0
      }
    }
    // A file of no bytes is one chunk of none, or it would have no block at all.
    if (filled === 0 && !isEmpty) return
    // The last chunk may wait for the disk among thousands of others, so it does not keep a whole buffer alive.
    yield filled === chunk.length ? chunk : Buffer.from(chunk.subarray(0, filled))
  }

  /** Gives a chunk back; nothing may read it afterwards. */
  release(chunk: Uint8Array): void {
    if (chunk.length === CHUNK_BYTES) this.#free.push(chunk as Buffer)
  }

  #grown(chunk: Buffer, filled: number): Buffer {
    const whole = this.#free.pop() ?? Buffer.from(new SharedArrayBuffer(CHUNK_BYTES))
    whole.set(chunk.subarray(0, filled))
    return whole
  }
}
