import { varint } from 'multiformats'

/** Ten bytes of seven bits hold a negative 32-bit number, the longest that occurs. */
export const LONGEST_VARINT = 10

/** Encodes a number in groups of seven bits, the lowest first. */
export function varintBytes(value: number): Uint8Array {
  return varint.encodeTo(value, new Uint8Array(varint.encodingLength(value)))
}

/**
 * Reads the number at `start`; null if the bytes end before it does.
 *
 * @throws RangeError if it is longer than any number.
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
