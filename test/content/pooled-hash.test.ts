import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { BlockThreads, CHUNK_BYTES, chunkPool } from '../../src/content/block-threads.ts'
import { pooledHash } from '../../src/content/pooled-hash.ts'
import { digestOf } from '../../src/ipld/block-hash.ts'
import { HASH } from '../../src/ipld/cid.ts'

function threads(): BlockThreads {
  const started = new BlockThreads()
  onTestFinished(() => started.stop())
  return started
}

test('blocks of any size and hash have the usual digest', async () => {
  const hash = pooledHash(threads())
  for (const size of [0, 1, 200_000, CHUNK_BYTES, CHUNK_BYTES + 1]) {
    // At an offset in its memory, like blocks in messages.
    const bytes = randomBytes(size + 7).subarray(7)
    for (const code of [HASH.sha2_256, HASH.sha2_512]) {
      expect(Buffer.compare(await hash(code, bytes), await digestOf(code, bytes))).toBe(0)
    }
  }
  expect(chunkPool.outstanding).toBe(0)
})

test('the end of a thread loses no digest and no chunk', async () => {
  const stopped = threads()
  const hash = pooledHash(stopped)
  await stopped.stop()
  const bytes = randomBytes(CHUNK_BYTES)
  expect(Buffer.compare(await hash(HASH.sha2_256, bytes), await digestOf(HASH.sha2_256, bytes))).toBe(0)
  expect(chunkPool.outstanding).toBe(0)
})

test('more blocks than chunks take turns', async () => {
  const hash = pooledHash(threads())
  const bytes = randomBytes(CHUNK_BYTES)
  const expected = await digestOf(HASH.sha2_256, bytes)
  const digests = await Promise.all(Array.from({ length: 100 }, () => hash(HASH.sha2_256, bytes)))
  expect(digests.every(digest => Buffer.compare(digest, expected) === 0)).toBe(true)
  expect(chunkPool.outstanding).toBe(0)
})
