const lone = new WeakSet<ArrayBufferLike>()

/** Marks a fetched block that has a memory buffer of its own and a single user. */
export function noteLone({ buffer }: Uint8Array): void {
  lone.add(buffer)
}

/** Removes the mark of a block that gets a second user. */
export function forgetLone({ buffer }: Uint8Array): void {
  lone.delete(buffer)
}

/**
 * Frees the memory of an unused block that {@link noteLone} marked. The garbage collector would run only after many
 * megabytes are allocated, and then scan the whole heap.
 */
export function freeLone({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && lone.delete(buffer)) buffer.transfer(0)
}
