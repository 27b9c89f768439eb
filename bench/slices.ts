/** The piece size of every source here: about what a socket hands over. */
export const CHUNK_BYTES = 64 * 1024

export function* slices(bytes: Uint8Array): Generator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES)
}
