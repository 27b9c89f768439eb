import { describe, expect, test } from 'vitest'
import { isSpared } from '../../../src/catalogue/rules/copy-rules.ts'

describe('a superfluous copy', () => {
  const on = (...nodes: string[]) => nodes.map(node => ({ node }))
  const two = { nodes: ['a', 'b', 'c'], copies: 2 }

  test('leaves as many places as each set wants', () => {
    expect(isSpared(on('a', 'b'), [two])).toBe(true)
    expect(isSpared(on('a', 'a'), [two])).toBe(false)
    expect(isSpared(on('a', 'x'), [two])).toBe(false)
    expect(isSpared(on('a', 'b'), [two, { nodes: ['c', 'd'], copies: 1 }])).toBe(false)
  })

  test('leaves all nodes that a small set has, and one at least', () => {
    expect(isSpared(on('a'), [{ nodes: ['a'], copies: 2 }])).toBe(true)
    expect(isSpared([], [{ nodes: [], copies: 2 }])).toBe(false)
    expect(isSpared([], [])).toBe(false)
    expect(isSpared(on('x'), [])).toBe(true)
  })
})
