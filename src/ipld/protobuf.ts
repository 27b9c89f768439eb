import { LONGEST_VARINT } from './varint.ts'

export const WIRE = { number: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const

/** Number of fields that may still be read from a message and its nested messages. */
export interface FieldBudget {
  left: number
}

/**
 * Reads the fields of one protobuf message in order. Creates no objects for fields, because a peer may send hundreds of
 * thousands.
 */
export class ProtobufReader {
  readonly #bytes: Uint8Array
  readonly #budget: FieldBudget | null
  #position: number
  #end: number
  field = 0
  wire = 0
  /** Offsets of the field's bytes, if the field is not a number. */
  start = 0
  end = 0
  /** Value of a numeric field, or 0 for other fields. Values beyond 2^53 are inexact. */
  value = 0

  constructor(bytes: Uint8Array, start = 0, end = bytes.length, budget: FieldBudget | null = null) {
    this.#bytes = bytes
    this.#position = start
    this.#end = end
    this.#budget = budget
  }

  /** Resets the reader to another range of the same bytes. */
  over(start: number, end: number): this {
    this.#position = start
    this.#end = end
    return this
  }

  /**
   * Moves to the next field. Returns false at the end.
   *
   * @throws RangeError if the message is malformed, or has more fields than the budget allows
   */
  next(): boolean {
    if (this.#position >= this.#end) return false
    if (this.#budget !== null && this.#budget.left-- <= 0) throw new RangeError('a message has too many fields')
    const key = this.#varint()
    this.field = Math.floor(key / 8)
    this.wire = key % 8
    this.value = 0
    if (this.wire === WIRE.number) this.value = this.#varint()
    else if (this.wire === WIRE.bytes) this.#skip(this.#varint())
    else if (this.wire === WIRE.fixed64) this.#skip(8)
    else if (this.wire === WIRE.fixed32) this.#skip(4)
    else throw new RangeError('a protobuf field of an unknown kind')
    return true
  }

  /** Returns a view of the field's bytes. @throws RangeError if the field is a number */
  bytes(): Uint8Array {
    this.#checkBytes()
    return this.#bytes.subarray(this.start, this.end)
  }

  /** @throws RangeError if the field is a number */
  message(): ProtobufReader {
    this.#checkBytes()
    return new ProtobufReader(this.#bytes, this.start, this.end, this.#budget)
  }

  #checkBytes(): void {
    if (this.wire === WIRE.number) throw new RangeError('a protobuf field has the wrong type')
  }

  #skip(bytes: number): void {
    this.start = this.#position
    this.end = this.start + bytes
    if (this.end > this.#end) throw new RangeError('a protobuf field goes beyond its message')
    this.#position = this.end
  }

  #varint(): number {
    let value = 0
    for (let scale = 1, count = 0; count < LONGEST_VARINT; scale *= 128, count++) {
      const byte = this.#position < this.#end ? this.#bytes[this.#position++] : undefined
      if (byte === undefined) throw new RangeError('a protobuf number goes beyond its message')
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
    throw new RangeError('a protobuf number is too long')
  }
}
