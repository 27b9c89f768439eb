import { LONGEST_VARINT, varintBytes } from './varint.ts'

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

/**
 * Reads the fields of one protobuf message, in order, without making an object of each: what a stranger sends has
 * hundreds of thousands.
 */
export class FieldReader {
  readonly #bytes: Uint8Array
  readonly #budget: FieldBudget
  #at: number
  readonly #end: number
  /** Of the field that was read last. */
  number = 0
  /** 0 for a field of bytes. */
  value = 0
  #start = -1
  #stop = 0

  constructor(bytes: Uint8Array, budget: FieldBudget, start = 0, end = bytes.length) {
    this.#bytes = bytes
    this.#budget = budget
    this.#at = start
    this.#end = end
  }

  /**
   * Goes to the next field. False if there is none.
   *
   * @throws RangeError where the message is malformed, or has more fields than the budget.
   */
  next(): boolean {
    if (this.#at >= this.#end) return false
    if (this.#budget.left-- <= 0) throw new RangeError('a message has too many fields')
    const tag = this.#varint()
    this.number = Math.floor(tag / 8)
    const wire = tag % 8
    this.value = 0
    this.#start = -1
    if (wire === WIRE.varint) {
      this.value = this.#varint()
      return true
    }
    const length = wire === WIRE.bytes ? this.#varint() : wire === WIRE.fixed64 ? 8 : wire === WIRE.fixed32 ? 4 : -1
    if (length < 0 || this.#at + length > this.#end) throw new RangeError('a field is cut off')
    this.#start = this.#at
    this.#stop = this.#at + length
    this.#at = this.#stop
    return true
  }

  /** A view of the field's bytes. @throws RangeError if it is a number. */
  bytes(): Uint8Array {
    return this.#bytes.subarray(this.#checkedStart(), this.#stop)
  }

  /** Reads the field as a message of its own. @throws RangeError if it is a number. */
  message(): FieldReader {
    return new FieldReader(this.#bytes, this.#budget, this.#checkedStart(), this.#stop)
  }

  #checkedStart(): number {
    if (this.#start < 0) throw new RangeError('a field has the wrong type')
    return this.#start
  }

  #varint(): number {
    let value = 0
    for (let i = 0; i < LONGEST_VARINT; i++) {
      if (this.#at >= this.#end) throw new RangeError('a number is cut off')
      const byte = this.#bytes[this.#at++] ?? 0
      value += (byte & 0x7f) * 2 ** (7 * i)
      if (byte < 0x80) return value
    }
    throw new RangeError('a number is too long')
  }
}

/** How many fields may still be read, of a message and those in it. */
export interface FieldBudget {
  left: number
}
