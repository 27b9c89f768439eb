const NOTHING = new Uint8Array(0)

/** Reads exact numbers of bytes from a stream of pieces. Requests the next piece only when it is needed. */
export class ByteReader {
  readonly #pieces: AsyncIterator<Uint8Array>
  #piece: Uint8Array = NOTHING
  #at = 0
  #position = 0

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#pieces = source[Symbol.asyncIterator]()
  }

  get position(): number {
    return this.#position
  }

  /** Returns null at the end of the source. */
  async byte(): Promise<number | null> {
    if (this.#at === this.#piece.length && !(await this.#pull())) return null
    this.#position++
    return this.#piece[this.#at++] ?? null
  }

  /** Returns a copy of the next `length` bytes, or null if the source has fewer bytes left. */
  async take(length: number): Promise<Uint8Array | null> {
    const taken = Buffer.allocUnsafe(length)
    return (await this.fill(taken)) ? taken : null
  }

  /** Returns false if the source has fewer bytes left. */
  async fill(target: Uint8Array): Promise<boolean> {
    for (let filled = 0; filled < target.length; ) {
      if (this.#at === this.#piece.length && !(await this.#pull())) return false
      const part = this.#piece.subarray(this.#at, this.#at + target.length - filled)
      target.set(part, filled)
      filled += part.length
      this.#at += part.length
      this.#position += part.length
    }
    return true
  }

  /** Returns false if the source ends before the position. */
  async skipTo(position: number): Promise<boolean> {
    while (this.#position < position) {
      if (this.#at === this.#piece.length && !(await this.#pull())) return false
      const length = Math.min(this.#piece.length - this.#at, position - this.#position)
      this.#at += length
      this.#position += length
    }
    return true
  }

  async #pull(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#pieces.next()
      if (done === true) return false
      if (value.length === 0) continue
      this.#piece = value
      this.#at = 0
      return true
    }
  }
}
