const lone = new WeakSet<ArrayBufferLike>()

/** Marks a fetched block that has its memory to itself and only one user. */
export function noteLone({ buffer }: Uint8Array): void {
  lone.add(buffer)
}

/** Removes the mark, because the block has a second user. */
export function forgetLone({ buffer }: Uint8Array): void {
  lone.delete(buffer)
}

/**
 * Frees the memory of an unused block that {@link noteLone} marked. The garbage collector frees the others, but only
 * after many allocated megabytes, with a pass over the whole heap.
 */
export function freeLone({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && lone.delete(buffer)) buffer.transfer(0)
}
