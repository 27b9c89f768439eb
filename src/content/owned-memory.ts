/** Less than this is not worth the trouble. */
const WORTH_BYTES = 64 * 1024

const owned = new WeakSet<ArrayBufferLike>()

/**
 * Notes that the memory of a block belongs to whoever the block is sent to: it was read for this one answer, and
 * nothing else refers to it. The garbage collector comes round by the megabytes that are allocated and then looks at
 * everything; on a stream of large blocks that is half of the work, which freeing them by hand saves.
 */
export function giveAway(block: Uint8Array): Uint8Array {
  if (block.length >= WORTH_BYTES && block.length === block.buffer.byteLength) owned.add(block.buffer)
  return block
}

/** Frees the memory below a chunk if it was given away; the chunk is empty then. */
export function free(chunk: Uint8Array): void {
  const { buffer } = chunk
  if (buffer instanceof ArrayBuffer && owned.delete(buffer)) buffer.transfer(0)
}
