import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { underName } from '../../src/concurrency/work.ts'
import { BlockThreads, CHUNK_BYTES, ChunkPool, chunkPool, isShared } from '../../src/content/block-threads.ts'
import { Chunker } from '../../src/content/unixfs/unixfs-import.ts'
import { DIRECT } from '../../src/disk/node-file-system.ts'
import { leaf, leaves, randomFile } from '../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { turns } from '../support/content-parts.ts'
import { needs } from '../support/needs.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withEngine } from '../support/test-engine.ts'
import { carOf, streamOf } from './car/support/cars.ts'

const MiB = 1024 ** 2
const needsDirectWrites = needs(writesDirectly(), 'temporary files are always written through the page cache')

function writesDirectly(): boolean {
  if (DIRECT === null) return false
  const path = join(tmpdir(), `holdfast-direct-${process.pid}`)
  try {
    closeSync(openSync(path, DIRECT))
    return true
  } catch {
    return false
  } finally {
    rmSync(path, { force: true })
  }
}
const bytesOf = (value: number): Buffer => Buffer.alloc(10, value)

describe('a pool of chunks', () => {
  test('allocates no more than its capacity, and reuses released chunks', async () => {
    const pool = new ChunkPool(4)
    for (let round = 0; round < 20; round++) {
      const taken = await Promise.all([1, 2, 3, 4].map(value => pool.move(bytesOf(value))))
      expect(new Set(taken.map(({ buffer }) => buffer)).size).toBe(4)
      expect(taken.map(chunk => chunk[0])).toEqual([1, 2, 3, 4])
      expect([pool.made, pool.outstanding]).toEqual([4, 4])
      for (const chunk of taken) pool.release(chunk)
    }
    expect([pool.made, pool.outstanding]).toEqual([4, 0])
  })

  test('allocates chunks that a disk takes without a copy', needsDirectWrites, async () => {
    await withTempDir(async dir => {
      const pool = new ChunkPool(8)
      for (let index = 0; index < 8; index++) {
        const file = openSync(join(dir, String(index)), DIRECT ?? 'w')
        expect(writeSync(file, await pool.move(Buffer.alloc(MiB, index)))).toBe(MiB)
        closeSync(file)
      }
    })
  })

  test('serves waiting callers in order', async () => {
    const pool = new ChunkPool(1)
    let held = await pool.move(bytesOf(0))
    const served: number[] = []
    const waiting = [1, 2, 3].map(async value => {
      const chunk = await pool.move(bytesOf(value))
      served.push(chunk[0] ?? -1)
      return chunk
    })
    expect(pool.waiting).toBe(3)
    for (const next of waiting) {
      pool.release(held)
      held = await next
    }
    expect(served).toEqual([1, 2, 3])
    expect(pool.made).toBe(1)
  })

  test('gives chunks to accounts in turns', async () => {
    const pool = new ChunkPool(1)
    const first = await pool.move(bytesOf(0))
    const served: string[] = []
    const all = ['many', 'many', 'many', 'few'].map(account =>
      underName(account, async () => {
        const chunk = await pool.move(bytesOf(1))
        served.push(account)
        pool.release(chunk)
      }),
    )
    pool.release(first)
    await Promise.all(all)
    expect(served).toEqual(['many', 'few', 'many', 'many'])
  })

  test('keeps half of its chunks for whole blocks', async () => {
    const pool = new ChunkPool(4)
    const slow = [pool.spare(), pool.spare()]
    expect(slow.every(chunk => chunk !== null)).toBe(true)
    expect(pool.spare()).toBeNull()
    const fast = await Promise.all([pool.move(bytesOf(1)), pool.move(bytesOf(2))])
    const waiting = pool.move(bytesOf(3))
    for (const chunk of slow) if (chunk !== null) pool.release(chunk)
    expect((await waiting)[0]).toBe(3)
    expect(fast.map(chunk => chunk[0])).toEqual([1, 2])
  })

  test('accepts each chunk once, and no foreign memory', async () => {
    const pool = new ChunkPool(4)
    const first = await pool.move(bytesOf(1))
    pool.release(first)
    const second = await pool.move(bytesOf(2))
    expect(second.buffer).toBe(first.buffer)
    pool.release(first)
    pool.release(Buffer.alloc(CHUNK_BYTES))
    pool.release(Buffer.from(new SharedArrayBuffer(CHUNK_BYTES)))
    expect(pool.outstanding).toBe(1)
    expect((await pool.move(bytesOf(3))).buffer).not.toBe(second.buffer)
  })

  test('drops an aborted caller from the queue', async () => {
    const pool = new ChunkPool(1)
    const held = await pool.move(bytesOf(0))
    const controller = new AbortController()
    const gone = pool.move(bytesOf(1), controller.signal)
    const next = pool.move(bytesOf(2))
    controller.abort(new Error('left'))
    await expect(gone).rejects.toThrow('left')
    pool.release(held)
    expect((await next)[0]).toBe(2)
    await expect(pool.move(bytesOf(3), controller.signal)).rejects.toThrow('left')
    expect([pool.waiting, pool.outstanding]).toEqual([0, 1])
  })

  test('has all chunks back after a file ends early', async () => {
    const pool = new ChunkPool(4)
    const broken = function* (): Generator<Uint8Array> {
      yield pseudoRandom(CHUNK_BYTES, 'broken')
      yield Buffer.alloc(700_000)
      yield Buffer.alloc(10)
      throw new Error('broken')
    }
    const chunker = new Chunker(undefined, pool)
    const read = async () => {
      for await (const chunk of chunker.chunks(broken())) chunker.release(chunk)
    }
    await expect(read()).rejects.toThrow('broken')
    for await (const chunk of chunker.chunks([Buffer.alloc(CHUNK_BYTES), Buffer.alloc(5), Buffer.alloc(5)])) {
      chunker.release(chunk)
      break
    }
    expect(pool.outstanding).toBe(0)
  })

  test('makes files wait when it is exhausted, and all of them finish', async () => {
    const pool = new ChunkPool(2)
    const files = Array.from({ length: 5 }, (_, i) => pseudoRandom(3 * CHUNK_BYTES, i))
    const read = async (file: Buffer) => {
      const chunker = new Chunker(undefined, pool)
      let at = 0
      for await (const chunk of chunker.chunks([file.subarray(0, 1.5 * MiB), file.subarray(1.5 * MiB)])) {
        await turns(3)
        expect(Buffer.compare(chunk, file.subarray(at, at + CHUNK_BYTES))).toBe(0)
        at += chunk.length
        chunker.release(chunk)
      }
      return at
    }
    expect(await Promise.all(files.map(read))).toEqual(Array(5).fill(3 * CHUNK_BYTES))
    expect([pool.made, pool.outstanding]).toEqual([2, 0])
  })
})

test('keeps memory with its owner when threads end midway', async () => {
  await withTempDir(async dir => {
    await mkdir(join(dir, 'blocks'))
    const pool = new ChunkPool(8)
    const threads = new BlockThreads()
    const work = Array.from({ length: 8 }, async (_, i) => {
      const chunk = await pool.move(pseudoRandom(CHUNK_BYTES, i))
      if (!isShared(chunk)) throw new Error('not shared')
      try {
        await threads.write(join(dir, `${i}.temp`), join(dir, 'blocks', String(i)), chunk)
      } finally {
        pool.release(chunk)
      }
    })
    const settled = Promise.allSettled(work)
    await turns(2)
    await threads.stop()
    await settled
    expect(pool.outstanding).toBe(0)
  })
})

describe('the pool of the process', () => {
  test('has all chunks back, as few after many uploads as before', async () => {
    await withEngine(async ({ engine, account }) => {
      const upload = (name: string) => engine.pins.upload([pseudoRandom(3 * MiB + 5, name)], { account })
      for (let i = 0; i < 8; i++) await upload(`warm ${i}`)
      const { made } = chunkPool
      expect(made).toBeGreaterThan(0)
      for (let i = 0; i < 20; i++) await upload(`flat ${i}`)
      expect([chunkPool.made, chunkPool.outstanding]).toEqual([made, 0])
      await Promise.all(Array.from({ length: 40 }, (_, i) => upload(`at once ${i}`)))
      expect(chunkPool.made).toBeLessThanOrEqual(64)
      expect([chunkPool.outstanding, chunkPool.waiting]).toEqual([0, 0])
    })
  })

  test('has chunks back from uploads that abort, break or are stopped', async () => {
    await withEngine(async test => {
      const { engine, account } = test
      const source = async function* (end: () => Promise<void>): AsyncGenerator<Uint8Array> {
        for (let i = 0; i < 6; i++) yield pseudoRandom(0.7 * MiB, `piece ${i}`)
        await end()
      }
      const broken = source(async () => {
        throw new Error('broken')
      })
      await expect(engine.pins.upload(broken, { account })).rejects.toThrow('broken')
      const controller = new AbortController()
      const aborted = source(async () => {
        controller.abort()
        await new Promise<never>(() => undefined)
      })
      await expect(engine.pins.upload(aborted, { account, signal: controller.signal })).rejects.toMatchObject({
        code: 'ABORTED',
      })
      let stopping: Promise<unknown> | null = null
      const cutOff = source(async () => {
        stopping = test.restart()
        await new Promise<never>(() => undefined)
      })
      await expect(engine.pins.upload(cutOff, { account })).rejects.toThrow()
      await stopping
      expect([chunkPool.outstanding, chunkPool.waiting]).toEqual([0, 0])
    })
  })

  test('has chunks back from a CAR, whole, truncated or with wrong blocks', async () => {
    await withEngine(async ({ engine, account }) => {
      const file = randomFile(6, 300_000, 'pooled')
      const car = await carOf([file.root], file.blocks)
      const [first, ...rest] = file.blocks
      if (first === undefined) throw new Error('a file without blocks')
      const filler = leaves(600, 20, 'after the wrong one').flatMap(dag => dag.blocks)
      const wrong = { cid: leaf(Buffer.from('another')).root, bytes: pseudoRandom(200_000, 'wrong') }
      for (const bad of [
        car.subarray(0, car.length - 5_000),
        await carOf([file.root], [wrong, first, ...rest, ...filler]),
      ]) {
        await expect(engine.pins.importCar(streamOf(bad), { account })).rejects.toMatchObject({ code: 'VALIDATION' })
        expect([chunkPool.outstanding, chunkPool.waiting]).toEqual([0, 0])
      }
      expect((await engine.pins.importCar(streamOf(car), { account })).created).toBe(true)
      expect([chunkPool.outstanding, chunkPool.waiting]).toEqual([0, 0])
    })
  })
})
