import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isHoldfastError, Timelock } from '../../../src/index.ts'
import { planOf } from '../../support/plans.ts'

const NOW = Date.parse('2030-01-15T12:00:00.000Z')
const premium = { ...planOf(), name: 'premium' }
const free = { ...planOf({ timelock: false }), name: 'free' }
const timelock = new Timelock()

function decided(text: string | undefined, plan = premium): number | string | null {
  try {
    return timelock.decide(text, plan, NOW)
  } catch (error) {
    if (isHoldfastError(error)) return error.code
    throw error
  }
}

function withOffset(instant: number, minutes: number): string {
  const sign = minutes < 0 ? '-' : '+'
  const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  const local = new Date(instant + minutes * 60_000).toISOString().slice(0, -1)
  return `${local}${sign}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`
}

const future = fc.integer({ min: NOW + 1, max: Date.parse('2130-01-15T12:00:00.000Z') })

describe('timelock', () => {
  test('a date-time means the same instant in any offset', () => {
    fc.assert(
      fc.property(future, fc.integer({ min: -1_439, max: 1_439 }), (instant, minutes) => {
        expect(decided(withOffset(instant, minutes))).toBe(instant)
        expect(decided(new Date(instant).toISOString())).toBe(instant)
        expect(decided(new Date(instant).toISOString().slice(0, -1))).toBe(instant)
        expect(decided(` ${new Date(instant).toISOString().toLowerCase()} `)).toBe(instant)
      }),
    )
  })

  test('accepts only no text or an instant within 100 years', () => {
    const digits = fc.stringMatching(/^[0-9TZ:+. -]{0,30}$/)
    const nearly = fc
      .tuple(fc.nat(9_999), fc.nat(99), fc.nat(99), fc.nat(99), fc.nat(99), fc.nat(99))
      .map(([year, ...rest]) => {
        const [month, day, hour, minute, second] = rest.map(part => String(part).padStart(2, '0'))
        return `${String(year).padStart(4, '0')}-${month}-${day}T${hour}:${minute}:${second}Z`
      })
    fc.assert(
      fc.property(fc.oneof(digits, nearly, fc.string()), text => {
        const outcome = decided(text)
        if (outcome === null) expect(text.trim()).toBe('')
        else if (typeof outcome === 'number') expect(outcome > NOW && outcome <= Date.UTC(2130, 0, 15, 12)).toBe(true)
        else expect(outcome).toBe('INVALID_TIMELOCK')
      }),
      { numRuns: 1_000 },
    )
  })

  test.each([undefined, '', '   '])('%j is no timelock, on any plan', text => {
    expect(decided(text)).toBeNull()
    expect(decided(text, free)).toBeNull()
  })

  test.each([
    ['2031-02-28T00:00:00Z', Date.UTC(2031, 1, 28)],
    ['2032-02-29T23:59:59.999Z', Date.UTC(2032, 1, 29, 23, 59, 59, 999)],
    ['2030-01-15T12:00:00.001Z', NOW + 1],
    ['2030-01-15T13:00:00.5+00:59', NOW + 60_500],
    ['2030-01-15T12:00:00-00:01', NOW + 60_000],
    ['2130-01-15T12:00:00Z', Date.UTC(2130, 0, 15, 12)],
    ['2031-01-01 00:00:00Z', Date.UTC(2031, 0, 1)],
    ['2031-01-01T00:00:00.123456789Z', Date.UTC(2031, 0, 1, 0, 0, 0, 123)],
    ['2031-01-01T00:00:00.123456789012Z', Date.UTC(2031, 0, 1, 0, 0, 0, 123)],
  ])('%s is an instant', (text, instant) => {
    expect(decided(text)).toBe(instant)
  })

  test.each([
    '2031-02-29T00:00:00Z',
    '2031-02-30T00:00:00Z',
    '2031-04-31T00:00:00Z',
    '2031-00-01T00:00:00Z',
    '2031-13-01T00:00:00Z',
    '2031-01-00T00:00:00Z',
    '2031-01-01T24:00:00Z',
    '2031-01-01T00:60:00Z',
    '2031-01-01T00:00:00+24:00',
    '2031-01-01T00:00:00+00:60',
    '2031-01-01T00:00:00+0100',
    '2031-01-01T00:00:00.Z',
    '2031-01-01T00:00Z',
    '2031-01-01',
    '2031',
    '1924992000',
    'Wed, 01 Jan 2031 00:00:00 GMT',
    '2031-01-01T00:00:00Zx',
    '+002031-01-01T00:00:00Z',
    '2030-01-15T12:00:00Z',
    '2030-01-15T11:59:59.999Z',
    '2030-01-15T12:00:00.0009Z',
    '1970-01-01T00:00:00Z',
    '0001-01-01T00:00:00Z',
    '2130-01-15T12:00:00.001Z',
    '9999-12-31T23:59:59Z',
  ])('%s is refused', text => {
    expect(decided(text)).toBe('INVALID_TIMELOCK')
  })

  test('a plan without timelocks reports an invalid one as invalid first', () => {
    expect(decided('2031-01-01T00:00:00Z', free)).toBe('TIMELOCK_NOT_ALLOWED')
    expect(decided('yesterday', free)).toBe('INVALID_TIMELOCK')
  })

  test('hasPassed is true from the instant on', () => {
    expect([NOW - 1, NOW, NOW + 1, null].map(instant => timelock.hasPassed(instant, NOW))).toEqual([
      true,
      true,
      false,
      false,
    ])
  })
})
