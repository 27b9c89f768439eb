/** Blocks up to this size are cheap to make memory for, and stay with the main thread. */
const SMALL_BYTES = 32 * 1024
/** What is kept to be used again holds any block but the rarest. */
const KEPT_BYTES = 1024 ** 2

/**
 * Memory for the blocks of one import, used again and again, which keeps its total flat and spares the kernel clearing
 * new pages. That of larger blocks is shared memory, so that threads can take them without a copy.
 */
export class BlockMemory {
  readonly #free: SharedArrayBuffer[] = []

  /** Memory with nothing in particular in it. Whoever takes it may give it back by {@link release}. */
  take(length: number): Buffer {
    if (length <= SMALL_BYTES) return Buffer.allocUnsafe(length)
    const memory = length <= KEPT_BYTES ? (this.#free.pop() ?? new SharedArrayBuffer(KEPT_BYTES)) : null
    return Buffer.from(memory ?? new SharedArrayBuffer(length), 0, length)
  }

  /** Nothing may read the bytes afterwards. */
  release({ buffer }: Uint8Array): void {
    if (buffer instanceof SharedArrayBuffer && buffer.byteLength === KEPT_BYTES) this.#free.push(buffer)
  }
}
