import { LONGEST_VARINT, readVarint } from '../../ipld/varint.ts'

/** Limits the empty messages on one stream, because each costs as much work as any other message. */
const MOST_EMPTY = 1_024

/** Splits the data of a stream into length-prefixed messages. */
export class FrameReader {
  readonly #maxBytes: number
  #head: Uint8Array = new Uint8Array()
  #frame: Buffer | null = null
  #filled = 0
  #empty = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get isWithinMessage(): boolean {
    return this.#frame !== null || this.#head.length > 0
  }

  get bytes(): number {
    return this.#frame?.length ?? 0
  }

  /**
   * Yields the completed messages, each in a buffer of its own.
   * @throws RangeError if a message is too long or its length is malformed. The stream is unreadable afterwards.
   */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let rest = chunk
    while (rest.length > 0) {
      if (this.#frame === null) {
        const started = this.#start(rest)
        if (started === null) return
        rest = started
      }
      const frame = this.#frame
      if (frame === null) continue
      const taken = rest.subarray(0, frame.length - this.#filled)
      frame.set(taken, this.#filled)
      this.#filled += taken.length
      rest = rest.subarray(taken.length)
      if (this.#filled < frame.length) return
      this.#frame = null
      yield frame
    }
  }

  /** Returns the bytes after the length, or null if the length is incomplete. */
  #start(chunk: Uint8Array): Uint8Array | null {
    const known = this.#head.length
    const head = known === 0 ? chunk : Buffer.concat([this.#head, chunk.subarray(0, LONGEST_VARINT)])
    const length = readVarint(head, 0)
    if (length === null) {
      this.#head = Uint8Array.from(head)
      return null
    }
    if (length.value > this.#maxBytes) throw new RangeError(`a message of ${length.value} bytes is too long`)
    this.#head = new Uint8Array()
    this.#filled = 0
    if (length.value > 0) this.#frame = Buffer.allocUnsafeSlow(length.value)
    else if (++this.#empty > MOST_EMPTY) throw new RangeError('too many messages are empty')
    return chunk.subarray(length.end - known)
  }
}
