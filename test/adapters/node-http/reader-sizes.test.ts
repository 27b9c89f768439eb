import { expect, test } from 'vitest'
import { readerSizes } from '../../../adapters/node-http/reader-sizes.ts'

const MIB = 1024 ** 2

test('gateway threads and their heaps follow the memory', () => {
  expect(readerSizes(128 * MIB, 8)).toEqual({ threads: 1, heapBytes: 32 * MIB })
  expect(readerSizes(256 * MIB, 8)).toEqual({ threads: 1, heapBytes: 64 * MIB })
  expect(readerSizes(384 * MIB, 8)).toEqual({ threads: 2, heapBytes: 96 * MIB })
  expect(readerSizes(8192 * MIB, 8).threads).toBe(4)
  expect(readerSizes(8192 * MIB, 2).threads).toBe(2)
})
