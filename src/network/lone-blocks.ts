const lone = new WeakSet<ArrayBufferLike>()

/**
 * Notes that a block which has come from the network is all that its memory is kept for, and that nobody but whoever
 * asked for it has it.
 */
export function noteLone({ buffer }: Uint8Array): void {
  lone.add(buffer)
}

/** Somebody else has the block, too. */
export function forgetLone({ buffer }: Uint8Array): void {
  lone.delete(buffer)
}

/**
 * Frees the memory of a block that has been noted so, and is not needed any more; of others it is left to the garbage
 * collector, which comes round by the megabytes that are allocated and then looks at everything.
 */
export function freeLone({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && lone.delete(buffer)) buffer.transfer(0)
}
