import { readVarint, varintBytes } from './varint.ts'

/** The two of protobuf's wire types that the exchange uses, and the two that it skips. */
const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const

/** Pieces up to this size are copied together, since each piece sent costs a frame. */
const COPIED_BYTES = 32 * 1024

/** Writes the fields of one protobuf message as a list of pieces. */
export class FieldWriter {
  readonly #pieces: Uint8Array[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  number(field: number, value: number): void {
    this.#add(varintBytes((field << 3) | WIRE.varint))
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

  /** The message behind its length, small pieces joined. */
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

/** One field as read: a number, or a view of bytes. */
export interface Field {
  number: number
  /** 0 for a field of bytes. */
  value: number
  /** @throws RangeError if the field is a number. */
  bytes(): Uint8Array
}

/** Reads the fields of one protobuf message, in order; iterating throws RangeError where it is malformed. */
export class FieldReader implements Iterable<Field> {
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  *[Symbol.iterator](): Generator<Field> {
    const bytes = this.#bytes
    let at = 0
    const varint = (): number => {
      const read = readVarint(bytes, at)
      if (read === null) throw new RangeError('a number is cut off')
      at = read.end
      return read.value
    }
    while (at < bytes.length) {
      const tag = varint()
      const number = Math.floor(tag / 8)
      const wire = tag % 8
      if (wire === WIRE.varint) {
        const value = varint()
        yield { number, value, bytes: notBytes }
      } else {
        const length = wire === WIRE.bytes ? varint() : wire === WIRE.fixed64 ? 8 : wire === WIRE.fixed32 ? 4 : -1
        if (length < 0 || at + length > bytes.length) throw new RangeError('a field is cut off')
        const value = bytes.subarray(at, at + length)
        at += length
        yield { number, value: 0, bytes: () => value }
      }
    }
  }
}

function notBytes(): never {
  throw new RangeError('a field has the wrong type')
}
