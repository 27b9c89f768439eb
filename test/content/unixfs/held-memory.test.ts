import { expect, test } from 'vitest'
import { HeldMemory } from '../../../src/content/unixfs/held-memory.ts'

test('an upload gets memory that others have freed', () => {
  const memory = new HeldMemory(10)
  const one = memory.part()
  const other = memory.part()
  one.take(6)
  expect(() => other.take(5)).toThrow(expect.objectContaining({ code: 'UNAVAILABLE', details: { retryAfter: 5 } }))
  other.take(4)
  one.free()
  other.take(5)
  expect(memory.held).toBe(9)
  other.free()
  other.free()
  expect(memory.held).toBe(0)
})

test('refuses an upload that alone needs more as too large', () => {
  const memory = new HeldMemory(100)
  memory.limitTo(10)
  memory.limitTo(20)
  const one = memory.part()
  const other = memory.part()
  other.take(1)
  one.take(6)
  expect(() => one.take(5)).toThrow(expect.objectContaining({ code: 'DIRECTORY_TOO_LARGE' }))
  expect(memory.held).toBe(7)
})
