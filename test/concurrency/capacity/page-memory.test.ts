import { describe, expect, test } from 'vitest'
import { PageMemory } from '../../../src/concurrency/capacity/page-memory.ts'

const MIB = 1024 ** 2

function pagesOf(bytes: Uint8Array): ArrayBuffer {
  if (bytes.buffer instanceof ArrayBuffer) return bytes.buffer
  throw new Error('the memory is not shared')
}

describe('memory of blocks', () => {
  test('is used again, and earlier views of it are empty', () => {
    const memory = new PageMemory()
    const first = memory.take(MIB).fill(7)
    memory.give(pagesOf(first))
    expect([first.length, memory.keptBytes]).toEqual([0, MIB])
    const second = memory.take(MIB)
    expect([second.length, second[0], memory.keptBytes]).toEqual([MIB, 7, 0])
    expect(first.length).toBe(0)
  })

  test('serves only blocks of its own size', () => {
    const memory = new PageMemory()
    memory.give(pagesOf(memory.take(MIB)))
    expect([memory.take(MIB / 2).length, memory.keptBytes]).toEqual([MIB / 2, MIB])
  })

  test('returns to the system beyond 8 MiB', () => {
    const memory = new PageMemory()
    const blocks = Array.from({ length: 200 }, () => memory.take(MIB).fill(1))
    const { rss: most } = process.memoryUsage()
    for (const block of blocks) memory.give(pagesOf(block))
    expect(memory.keptBytes).toBe(8 * MIB)
    expect(most - process.memoryUsage().rss).toBeGreaterThan(150 * MIB)
  })

  test('frees memory that malloc has allocated', () => {
    const memory = new PageMemory()
    const small = memory.take(1024)
    memory.give(pagesOf(small))
    expect([small.length, memory.keptBytes]).toEqual([0, 0])
  })
})
