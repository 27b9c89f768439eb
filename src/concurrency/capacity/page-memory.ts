/** Smaller memory comes from malloc, which wastes less of it than whole pages. */
export const PAGED_BYTES = 64 * 1024
/** Bytes of free memory that each thread keeps for its next blocks. */
const KEPT_BYTES = 8 * 1024 ** 2

/**
 * Memory of large blocks, in pages of its own. The system gets freed pages back at once, while malloc keeps most of
 * them after a crowd of slow readers. A fresh page costs the kernel ten times as much as reading a block into it, so
 * the next block reuses freed memory.
 */
export class PageMemory {
  /** Not more than {@link KEPT_BYTES}. */
  readonly #free: ArrayBuffer[] = []
  #kept = 0

  get keptBytes(): number {
    return this.#kept
  }

  /** Returns memory with arbitrary content, which the caller overwrites. */
  take(length: number): Buffer<ArrayBuffer> {
    if (length < PAGED_BYTES) return Buffer.allocUnsafeSlow(length)
    const index = this.#free.findLastIndex(({ byteLength }) => byteLength === length)
    const [free] = index === -1 ? [] : this.#free.splice(index, 1)
    if (free !== undefined) this.#kept -= length
    // Only a resizable buffer has pages of its own. This one never grows.
    return Buffer.from(free ?? new ArrayBuffer(length, { maxByteLength: length }), 0, length)
  }

  /** Frees memory. Every other reference to it becomes empty, so that no reader sees bytes of the next block. */
  give(memory: ArrayBuffer): void {
    const { byteLength } = memory
    if (!memory.resizable || byteLength > KEPT_BYTES) {
      memory.transferToFixedLength(0)
      return
    }
    // A transfer by `ArrayBuffer.transfer` would copy resizable memory.
    this.#free.push(structuredClone(memory, { transfer: [memory] }))
    this.#kept += byteLength
    while (this.#kept > KEPT_BYTES) {
      const oldest = this.#free.shift()
      if (oldest === undefined) return
      this.#kept -= oldest.byteLength
      oldest.transferToFixedLength(0)
    }
  }
}

/** The memory of this thread. */
export const pageMemory = new PageMemory()
