import { expect, test } from 'vitest'
import { UsedNonces } from '../../../adapters/fleet/used-nonces.ts'

const MINUTE = 60_000
const NOW = Date.UTC(2026, 0, 15)

test('a nonce is accepted once while its proof is valid', () => {
  const used = new UsedNonces(MINUTE)
  expect(used.take('a', NOW, NOW)).toBe(true)
  expect(used.take('b', NOW, NOW)).toBe(true)
  for (const now of [NOW, NOW + 1, NOW + MINUTE, NOW + 10 * MINUTE]) expect(used.take('a', NOW, now)).toBe(false)
})

test('a nonce of an outdated proof is refused after a clock change', () => {
  const used = new UsedNonces(MINUTE)
  expect(used.take('a', NOW, NOW)).toBe(true)
  expect(used.take('b', NOW + 2 * MINUTE, NOW + 2 * MINUTE)).toBe(true)
  expect(used.count).toBe(1)
  expect(used.take('a', NOW, NOW)).toBe(false)
  expect(used.take('never seen', NOW, NOW)).toBe(false)
})

test('a full store forgets the oldest second and refuses its proofs', () => {
  const used = new UsedNonces(MINUTE, 3)
  const take = (nonce: string, seconds: number): boolean => used.take(nonce, NOW + seconds * 1_000, NOW)
  // A late proof, or one from a clock ahead, is not the oldest.
  expect(['a', 'b', 'c'].map((nonce, i) => take(nonce, [5, 0, 3][i] ?? 0))).toEqual([true, true, true])
  expect(take('d', 4)).toBe(true)
  expect(used.count).toBe(3)
  expect([take('b', 0), take('new', 0), take('a', 5), take('c', 3)]).toEqual([false, false, false, false])
})

test('a store filled by one second refuses the rest of it', () => {
  const used = new UsedNonces(MINUTE, 2)
  const taken = ['a', 'b', 'c', 'd', 'a', 'b'].map(nonce => used.take(nonce, NOW, NOW))
  expect(taken).toEqual([true, true, true, false, false, false])
  expect(used.count).toBe(0)
  expect(used.take('a', NOW + 1_000, NOW)).toBe(true)
})
