import { expect, test } from 'vitest'
import { memoryShares } from '../../src/wiring/memory-shares.ts'

const MIB = 1024 ** 2

test('a small process divides only a part of its memory', () => {
  expect(memoryShares(256 * MIB)).toEqual({
    answers: 16 * MIB,
    responses: 512,
    pages: 16 * MIB,
    searches: 16 * MIB,
    remembered: 4 * MIB,
    chunks: 8,
    names: 32 * MIB,
    blockThreads: 1,
  })
  expect(memoryShares(384 * MIB)).toEqual({
    answers: 32 * MIB,
    responses: 768,
    pages: 24 * MIB,
    searches: 24 * MIB,
    remembered: 6 * MIB,
    chunks: 12,
    names: 48 * MIB,
    blockThreads: 2,
  })
  expect(memoryShares(1024 * MIB)).toEqual({
    answers: 112 * MIB,
    responses: 2048,
    pages: 64 * MIB,
    searches: 64 * MIB,
    remembered: 8 * MIB,
    chunks: 32,
    names: 128 * MIB,
    blockThreads: 5,
  })
})

test('a process below the minimum still answers', () => {
  expect(memoryShares(64 * MIB)).toMatchObject({ answers: 8 * MIB, responses: 128 })
})
