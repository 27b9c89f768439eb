import { varintBytes } from '../../src/ipld/varint.ts'

export const IDENTIFY = '/ipfs/id/1.0.0'

export function field(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([varintBytes((number << 3) | 2), varintBytes(bytes.length), bytes])
}

export function framed(message: Uint8Array): Buffer {
  return Buffer.concat([varintBytes(message.length), message])
}

/** Encodes a different address with a port for each number. */
export function address(number: number): Buffer {
  return Buffer.concat([Buffer.of(4, 203, 0, 113, number >> 16), Buffer.of(6, (number >> 8) & 0xff, number & 0xff)])
}

/** Fills a message with fields, each made from its number. Numbers continue from `first`. */
export function many(first: number, most: number, make: (number: number) => Buffer): Buffer[] {
  const fields: Buffer[] = []
  for (let bytes = 0, number = first; ; number++) {
    const next = make(number)
    bytes += next.length
    if (bytes > most) return fields
    fields.push(next)
  }
}
