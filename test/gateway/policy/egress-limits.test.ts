import { expect, test } from 'vitest'
import { EgressLimits } from '../../../src/gateway/policy/egress-limits.ts'

const PAYER = { accountId: 'one', plan: 'limited' }

test('counts bytes once, whether this node or another one wrote them', () => {
  const limits = new EgressLimits()
  const left = limits.learn({ ...PAYER, bytes: 10 }, 100)
  expect(left[0]).toBe(90n)
  // This node sends 20 bytes and writes them. Another node writes 5.
  Atomics.sub(left, 0, 20n)
  limits.wrote('one', 20)
  expect(limits.learn({ ...PAYER, bytes: 35 }, 100)).toBe(left)
  expect(left[0]).toBe(65n)
})

test('keeps running responses in a new month and on another plan', () => {
  const limits = new EgressLimits()
  const left = limits.learn({ ...PAYER, bytes: 90 }, 100)
  Atomics.sub(left, 0, 30n)
  limits.learn({ ...PAYER, bytes: 0 }, 200)
  expect(left[0]).toBe(170n)
})

test('the catalogue tells whether bytes of an unknown outcome count', () => {
  const limits = new EgressLimits()
  const left = limits.learn({ ...PAYER, bytes: 0 }, 100)
  Atomics.sub(left, 0, 30n)
  limits.lost('one', 30)
  limits.learn({ ...PAYER, bytes: 30 }, 100)
  expect(left[0]).toBe(70n)
})

test('a thread that ends gives back only what it has not reported', () => {
  const limits = new EgressLimits()
  const left = limits.learn({ ...PAYER, bytes: 0 }, 100)
  Atomics.sub(left, 0, 30n)
  Atomics.add(left, 3, 30n)
  limits.reported('one', 3, 20)
  limits.forget(2)
  expect(left[0]).toBe(70n)
  limits.forget(3)
  limits.forget(3)
  expect(left[0]).toBe(80n)
})
