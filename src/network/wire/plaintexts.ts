/** Size in bytes of the header of a Yamux frame. */
const HEADER_BYTES = 12
/** Minimum size in bytes of a plaintext that is freed without the garbage collector. */
const WORTH_BYTES = 16 * 1024

const plaintexts = new WeakSet<ArrayBufferLike>()

/** Marks a newly decrypted message that fills its buffer. */
export function notePlaintext(message: Uint8Array): Uint8Array {
  const { buffer, byteLength } = message
  if (byteLength >= WORTH_BYTES && byteLength === buffer.byteLength) plaintexts.add(buffer)
  return message
}

/**
 * Frees the buffer of a marked message. The given bytes are stream data that no code needs any more. The buffer is
 * freed only if the bytes fill it, except for a frame header at the start. In a larger gap, the buffer could hold data
 * of another stream.
 */
export function freePlaintext({ buffer, byteOffset, byteLength }: Uint8Array): void {
  const isAll = byteOffset <= HEADER_BYTES && byteOffset + byteLength === buffer.byteLength
  if (isAll && buffer instanceof ArrayBuffer && plaintexts.delete(buffer)) buffer.transfer(0)
}
