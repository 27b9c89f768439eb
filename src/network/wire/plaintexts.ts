/** Size of the header of a Yamux frame. */
const HEADER_BYTES = 12
/** Smaller plaintexts are left to the garbage collector. */
const WORTH_BYTES = 16 * 1024

const plaintexts = new WeakSet<ArrayBufferLike>()

export function notePlaintext(message: Uint8Array): Uint8Array {
  const { buffer, byteLength } = message
  if (byteLength >= WORTH_BYTES && byteLength === buffer.byteLength) plaintexts.add(buffer)
  return message
}

/**
 * Frees the buffer of a marked message that no code needs any more. Does nothing if the rest of the buffer could hold
 * data of another stream.
 */
export function freePlaintext({ buffer, byteOffset, byteLength }: Uint8Array): void {
  const isAll = byteOffset <= HEADER_BYTES && byteOffset + byteLength === buffer.byteLength
  if (isAll && buffer instanceof ArrayBuffer && plaintexts.delete(buffer)) buffer.transfer(0)
}
