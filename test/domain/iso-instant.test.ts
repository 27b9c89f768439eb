import { expect, test, vi } from 'vitest'
import { isoInstant } from '../../src/domain/iso-instant.ts'

const LAST = 8.64e15
const DAY = 86_400_000

test('instants look as Date formats them, in any year and order', () => {
  const drawn = Array.from({ length: 2_000 }, (_, index) => {
    const span = [DAY, 365 * DAY, LAST][index % 3] ?? LAST
    return Math.round((Math.random() * 2 - 1) * span) + (index % 3 === 2 ? 0 : 1_790_000_000_000)
  }).filter(ms => Math.abs(ms) <= LAST)
  for (const ms of [0, -1, 1, DAY - 1, DAY, -DAY, LAST, -LAST, ...drawn]) {
    expect(isoInstant(ms)).toBe(new Date(ms).toISOString())
  }
  expect(() => isoInstant(Number.NaN)).toThrow(RangeError)
  expect(() => isoInstant(LAST + 1)).toThrow(RangeError)
})

test('many instants of one day format the day once', () => {
  const written = vi.spyOn(Date.prototype, 'toISOString')
  try {
    for (let minute = 0; minute < 100; minute++)
      isoInstant(1_790_000_000_000 - (1_790_000_000_000 % DAY) + minute * 60_000)
    expect(written.mock.calls.length).toBeLessThanOrEqual(1)
  } finally {
    written.mockRestore()
  }
})
