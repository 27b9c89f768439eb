/** Size of a Yamux frame's header. */
const HEADER_BYTES = 12
/** Smallest plaintext to free by hand. */
const WORTH_BYTES = 16 * 1024

const plaintexts = new WeakSet<ArrayBufferLike>()

/** Marks a freshly decrypted message that has its memory to itself. */
export function notePlaintext(message: Uint8Array): Uint8Array {
  const { buffer, byteLength } = message
  if (byteLength >= WORTH_BYTES && byteLength === buffer.byteLength) plaintexts.add(buffer)
  return message
}

/**
 * Frees the memory of a marked message. The bytes given are a stream's data that no caller needs any more. They must fill the
 * memory, except for a frame header in front. A connection carries many streams. Directly before a stream's data is its
 * own header, or earlier data of the same frame. A gap of at most one header therefore holds no data of another stream.
 */
export function freePlaintext({ buffer, byteOffset, byteLength }: Uint8Array): void {
  const isAll = byteOffset <= HEADER_BYTES && byteOffset + byteLength === buffer.byteLength
  if (isAll && buffer instanceof ArrayBuffer && plaintexts.delete(buffer)) buffer.transfer(0)
}
