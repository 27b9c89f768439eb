/**
 * Cuts a stream of bytes at delimiters. It pulls: nothing is read from the source before a piece is asked for that
 * the bytes at hand cannot give. Pieces are views of the source's own chunks.
 */
export class ByteScanner {
  readonly #source: AsyncIterator<Uint8Array>
  readonly #truncated: () => Error
  #bytes: Buffer
  #ended = false

  /** `truncated` makes the error for a source that ends inside a piece. `head` is put before the source's bytes. */
  constructor(source: AsyncIterable<Uint8Array>, truncated: () => Error, head: Buffer = Buffer.alloc(0)) {
    this.#source = source[Symbol.asyncIterator]()
    this.#truncated = truncated
    this.#bytes = head
  }

  /** The next bytes before `delimiter`, at least one; undefined once the delimiter is reached, which is then passed. */
  async piece(delimiter: Buffer): Promise<Buffer | undefined> {
    for (;;) {
      const at = this.#bytes.indexOf(delimiter)
      if (at > 0) return this.#take(at)
      if (at === 0) {
        this.#take(delimiter.length)
        return undefined
      }
      const safe = this.#bytes.length - overlap(this.#bytes, delimiter)
      if (safe > 0) return this.#take(safe)
      await this.#grow()
    }
  }

  /** The next `length` bytes, left in place. */
  async peek(length: number): Promise<Buffer> {
    while (this.#bytes.length < length) await this.#grow()
    return this.#bytes.subarray(0, length)
  }

  /** Bytes up to the end of the source; undefined there. */
  async remainder(): Promise<Buffer | undefined> {
    if (this.#bytes.length === 0 && !(await this.#pull())) return undefined
    return this.#take(this.#bytes.length)
  }

  /** Closes the source if it has not ended. */
  async release(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    await this.#source.return?.()
  }

  #take(length: number): Buffer {
    const taken = this.#bytes.subarray(0, length)
    this.#bytes = this.#bytes.subarray(length)
    return taken
  }

  async #grow(): Promise<void> {
    if (!(await this.#pull())) throw this.#truncated()
  }

  async #pull(): Promise<boolean> {
    if (this.#ended) return false
    let next: IteratorResult<Uint8Array>
    try {
      next = await this.#source.next()
    } catch (error) {
      this.#ended = true
      throw error
    }
    if (next.done === true) {
      this.#ended = true
      return false
    }
    const chunk = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength)
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    return true
  }
}

/** How many bytes at the end of `bytes` may be the beginning of `delimiter`. */
function overlap(bytes: Buffer, delimiter: Buffer): number {
  const first = delimiter[0] ?? 0
  const from = Math.max(0, bytes.length - delimiter.length + 1)
  for (let at = bytes.indexOf(first, from); at !== -1; at = bytes.indexOf(first, at + 1)) {
    const length = bytes.length - at
    if (bytes.compare(delimiter, 0, length, at) === 0) return length
  }
  return 0
}
