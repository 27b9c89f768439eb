import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CHUNK_BYTES, ChunkPool } from '../../../src/content/block-threads.ts'
import { Chunker } from '../../../src/content/unixfs/unixfs-import.ts'
import { pieces, pseudoRandom, sha256Hex } from '../../support/bytes.ts'

async function chunksOf(source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of new Chunker(undefined, new ChunkPool(8)).chunks(source)) chunks.push(chunk)
  return chunks
}

/** Chunks of the profile: whole chunks, then the rest. */
function expected(bytes: Uint8Array): Uint8Array[] {
  // An empty file is one empty chunk.
  const chunks: Uint8Array[] = bytes.length === 0 ? [bytes] : []
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    chunks.push(bytes.subarray(start, start + CHUNK_BYTES))
  }
  return chunks
}

const content = pseudoRandom(3 * CHUNK_BYTES + 17, 'chunker')

describe('chunker', () => {
  test('any split of the same bytes gives the same chunks', async () => {
    const sizes = fc.constantFrom(
      0,
      1,
      100,
      CHUNK_BYTES - 1,
      CHUNK_BYTES,
      CHUNK_BYTES + 1,
      2 * CHUNK_BYTES,
      content.length,
    )
    const cuts = fc.array(
      fc.oneof(fc.constantFrom(0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1), fc.nat(700_000)),
      {
        maxLength: 12,
      },
    )
    await fc.assert(
      fc.asyncProperty(sizes, cuts, async (size, lengths) => {
        const bytes = content.subarray(0, size)
        const chunks = await chunksOf(pieces(bytes, lengths))
        expect(chunks.map(chunk => chunk.length)).toEqual(expected(bytes).map(chunk => chunk.length))
        expect(Buffer.compare(Buffer.concat(chunks), bytes)).toBe(0)
      }),
      { numRuns: 60 },
    )
  })

  test('a source may reuse its buffer', async () => {
    const shared = Buffer.alloc(700_000)
    const source = function* (): Generator<Uint8Array> {
      for (const piece of pieces(content, [10, 699_990, 700_000, 5, 700_000, 500_000])) {
        for (const part of pieces(piece, Array<number>(10).fill(shared.length))) {
          shared.set(part)
          yield shared.subarray(0, part.length)
          shared.fill(0xee)
        }
      }
    }
    const chunks = await chunksOf(source())
    expect(Buffer.compare(Buffer.concat(chunks), content)).toBe(0)
    // Chunks share no memory with each other either.
    chunks[0]?.fill(0)
    expect(Buffer.compare(Buffer.concat(chunks.slice(1)), content.subarray(CHUNK_BYTES))).toBe(0)
  })

  test('a released chunk is filled again, and not before its release', async () => {
    const chunker = new Chunker(undefined, new ChunkPool(8))
    const seen: string[] = []
    const buffers = new Set<ArrayBufferLike>()
    const held: Uint8Array[] = []
    const many = Array.from({ length: 12 }, (_, i) => pseudoRandom(CHUNK_BYTES, i))
    for await (const chunk of chunker.chunks(many)) {
      expect(held.some(other => other.buffer === chunk.buffer)).toBe(false)
      held.push(chunk)
      buffers.add(chunk.buffer)
      if (held.length < 3) continue
      const oldest = held.shift()
      if (oldest === undefined) throw new Error('nothing held')
      seen.push(sha256Hex(oldest))
      chunker.release(oldest)
    }
    expect([...seen, ...held.map(sha256Hex)]).toEqual(many.map(sha256Hex))
    expect(buffers.size).toBeLessThanOrEqual(4)
  })

  test('a short last chunk does not keep a whole buffer', async () => {
    const last = (await chunksOf(pieces(content.subarray(0, CHUNK_BYTES + 300_000), [400_000, 400_000]))).at(-1)
    expect(last?.length).toBe(300_000)
    expect(last?.buffer.byteLength).toBeLessThan(CHUNK_BYTES)
  })
})
