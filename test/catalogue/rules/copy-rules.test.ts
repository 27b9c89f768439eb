import { describe, expect, test } from 'vitest'
import { absencesIn, isSpared } from '../../../src/catalogue/rules/copy-rules.ts'

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

describe('a node of a cluster with copies', () => {
  const [AFTER, LONG] = [1_800_000, 2_000_000]
  const at = (node: string, silentMs: number, isAbsent = false) => ({ clusterId: 'main', node, silentMs, isAbsent })
  const decided = (members: ReturnType<typeof at>[], unbrokenMs = LONG) => {
    const { began, ended } = absencesIn(members, id => (id === 'main' ? AFTER : undefined), unbrokenMs)
    return [began.map(({ node }) => node), ended.map(({ node }) => node)]
  }

  test('is away after its time without a sign', () => {
    expect(decided([at('a', 0), at('b', AFTER - 1), at('c', 5_000)])).toEqual([[], []])
    expect(decided([at('a', 0), at('b', AFTER), at('c', 5_000)])).toEqual([['b'], []])
    expect(decided([at('a', 0), at('b', AFTER, true), at('c', 5_000)])).toEqual([[], []])
  })

  test('is not away while nobody could have seen it', () => {
    expect(decided([at('a', 0), at('b', LONG)], AFTER - 1)).toEqual([[], []])
    expect(decided([at('a', 0), at('b', LONG)], AFTER)).toEqual([['b'], []])
  })

  test('waits for an operator if another one is quiet, too', () => {
    expect(decided([at('a', 0), at('b', LONG), at('c', LONG)])).toEqual([[], []])
    expect(decided([at('a', 0), at('b', LONG), at('c', 30_000)])).toEqual([[], []])
    expect(decided([at('a', 0), at('b', LONG, true), at('c', LONG)])).toEqual([[], []])
    expect(decided([at('a', 0), at('b', LONG), at('c', 29_999)])).toEqual([['b'], []])
  })

  test('is back with its first sign', () => {
    expect(decided([at('a', 0), at('b', 29_999, true)], 0)).toEqual([[], ['b']])
  })

  test('is away in no cluster that the configuration lacks', () => {
    expect(absencesIn([at('a', 0), at('b', LONG)], () => undefined, LONG).began).toEqual([])
  })
})
