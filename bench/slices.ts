/** Size of the pieces of every source, about as much as a socket delivers at once. */
export const CHUNK_BYTES = 64 * 1024

export function* slices(bytes: Uint8Array): Generator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES)
}
