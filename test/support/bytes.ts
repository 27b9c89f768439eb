import { createCipheriv, createHash } from 'node:crypto'

/** Returns the same bytes for the same seed. */
export function pseudoRandom(length: number, seed: number | string = 0): Buffer {
  const key = createHash('sha256').update(String(seed)).digest().subarray(0, 16)
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length))
}

/** Splits bytes into pieces of the given lengths. The remainder is the last piece. */
export function* pieces(bytes: Uint8Array, lengths: Iterable<number>): Generator<Uint8Array> {
  let start = 0
  for (const length of lengths) {
    if (start >= bytes.length) return
    yield bytes.subarray(start, start + length)
    start += length
  }
  if (start < bytes.length) yield bytes.subarray(start)
}

export async function collect(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of source) parts.push(part)
  return Buffer.concat(parts)
}

export function sha256Hex(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
