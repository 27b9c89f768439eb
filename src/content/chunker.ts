/** The chunk size of the profile `unixfs-v1-2025` (IPIP-499). */
export const CHUNK_BYTES = 1024 ** 2

/**
 * Cuts a byte stream into chunks of exactly {@link CHUNK_BYTES} and a shorter last one, in buffers that nothing
 * else uses: the source may reuse its own as soon as the next piece is asked for.
 */
export async function* chunked(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
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
      if (chunk.length < CHUNK_BYTES) chunk = grown(chunk, filled)
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

function grown(chunk: Buffer, filled: number): Buffer {
  const whole = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  whole.set(chunk.subarray(0, filled))
  return whole
}
