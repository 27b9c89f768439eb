import { WIRE } from '../../ipld/protobuf.ts'
import { varintBytes } from '../../ipld/varint.ts'

/** Pieces up to this size are joined. Joining avoids a frame for each piece. */
const COPIED_BYTES = 32 * 1024

export class FieldWriter {
  readonly #pieces: Uint8Array[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  number(field: number, value: number): void {
    this.#add(varintBytes((field << 3) | WIRE.number))
    this.#add(varintBytes(value))
  }

  bytes(field: number, value: Uint8Array): void {
    this.#add(varintBytes((field << 3) | WIRE.bytes))
    this.#add(varintBytes(value.length))
    this.#add(value)
  }

  message(field: number, inner: FieldWriter): void {
    this.#add(varintBytes((field << 3) | WIRE.bytes))
    this.#add(varintBytes(inner.#length))
    for (const piece of inner.#pieces) this.#add(piece)
  }

  /** Returns the message with its length prefix. */
  framed(): Uint8Array[] {
    const joined: Uint8Array[] = []
    let small: Uint8Array[] = []
    const join = (): void => {
      if (small.length > 0) joined.push(Buffer.concat(small))
      small = []
    }
    for (const piece of [varintBytes(this.#length), ...this.#pieces]) {
      if (piece.length <= COPIED_BYTES) {
        small.push(piece)
        continue
      }
      join()
      joined.push(piece)
    }
    join()
    return joined
  }

  #add(piece: Uint8Array): void {
    this.#pieces.push(piece)
    this.#length += piece.length
  }
}
