import { type FileHandle, open, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { createEngine } from '../../src/index.ts'
import { readIntoCache } from '../../src/storage/read-ahead.ts'
import { withTempDir } from '../support/temp-dir.ts'

const MIB = 1024 ** 2

afterEach(() => vi.restoreAllMocks())

/** Returns the sizes of all reads by file handles from now on. */
async function watchedReads(file: string): Promise<number[]> {
  const one = await open(file, 'r')
  await one.close()
  const handles = Object.getPrototypeOf(one) as FileHandle
  const sizes: number[] = []
  const read = handles.read
  vi.spyOn(handles, 'read').mockImplementation(async function (this: FileHandle, ...args: unknown[]) {
    const result = await Reflect.apply(read, this, args)
    if (args[2] === MIB) sizes.push(result.bytesRead)
    return result
  } as typeof read)
  return sizes
}

test('reads a file that fits into memory, until its signal', () =>
  withTempDir(async dir => {
    const file = join(dir, 'file')
    await writeFile(file, Buffer.alloc(2.5 * MIB))
    const sizes = await watchedReads(file)
    await readIntoCache(file, 2 * MIB)
    expect(sizes).toEqual([])
    await readIntoCache(file, 3 * MIB)
    expect(sizes).toEqual([MIB, MIB, MIB / 2, 0])
    await expect(readIntoCache(file, 3 * MIB, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped')
  }))

test('a reconciliation reads the whole database in the thread pool', () =>
  withTempDir(async dir => {
    const engine = await createEngine({ dataDir: dir })
    try {
      const file = join(dir, 'holdfast.db')
      const sizes = await watchedReads(file)
      await engine.reconcile({ dryRun: true })
      const bytes = sizes.reduce((sum, size) => sum + size, 0)
      expect(bytes).toBe((await stat(file)).size)
      expect(bytes).toBeGreaterThan(0)
    } finally {
      await engine.stop()
    }
  }))
