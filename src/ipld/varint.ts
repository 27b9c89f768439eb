import { varint } from 'multiformats'

/** Maximum size of a varint in bytes. A negative 32-bit number in protobuf takes all ten. */
export const LONGEST_VARINT = 10

export function varintBytes(value: number): Uint8Array {
  return varint.encodeTo(value, new Uint8Array(varint.encodingLength(value)))
}

/**
 * Returns null if the bytes end within the varint.
 *
 * @throws RangeError if the varint is longer than {@link LONGEST_VARINT} bytes
 */
export function readVarint(bytes: Uint8Array, start: number): { value: number; end: number } | null {
  let value = 0
  for (let i = 0; i < LONGEST_VARINT; i++) {
    const byte = bytes[start + i]
    if (byte === undefined) return null
    value += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 0x80) return { value, end: start + i + 1 }
  }
  throw new RangeError('a number is too long')
}
