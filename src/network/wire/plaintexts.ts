/** Of a frame of Yamux. */
const HEADER_BYTES = 12
/** Less than this is not worth the trouble. */
const WORTH_BYTES = 16 * 1024

const plaintexts = new WeakSet<ArrayBufferLike>()

/** Notes that nothing but this message, which was just decrypted, is in its memory. */
export function notePlaintext(message: Uint8Array): Uint8Array {
  const { buffer, byteLength } = message
  if (byteLength >= WORTH_BYTES && byteLength === buffer.byteLength) plaintexts.add(buffer)
  return message
}

/**
 * Frees the memory of a decrypted message, if it was noted and these bytes of a stream, which are not needed any more,
 * are all of it but for what comes before them and is no longer than the header of a frame. On a connection with many
 * streams what directly precedes the bytes of one is their header, or earlier bytes of the same: with less than a
 * header's length before them nothing of another stream is there.
 */
export function freePlaintext({ buffer, byteOffset, byteLength }: Uint8Array): void {
  const isAll = byteOffset <= HEADER_BYTES && byteOffset + byteLength === buffer.byteLength
  if (isAll && buffer instanceof ArrayBuffer && plaintexts.delete(buffer)) buffer.transfer(0)
}
