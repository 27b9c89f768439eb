import { describe, expect, test } from 'vitest'
import { DatabaseHealth } from '../../../adapters/postgres/outages/database-health.ts'
import { ManualClock } from '../../support/manual-clock.ts'

/** A database whose clock is `ms` behind the node's, with a delay in each direction. */
function databaseBehind(clock: ManualClock, ms: number, [there, back]: [number, number] = [5, 5]) {
  const state = { isReadOnly: false }
  const query = async <Row extends object>(): Promise<{ rows: Row[] }> => {
    clock.advance(there)
    const looked = { now: clock.now() - ms, isReadOnly: state.isReadOnly }
    clock.advance(back)
    return { rows: [looked as unknown as Row] }
  }
  return { state, query }
}

describe('the health of a database', () => {
  const healthAt = (clock: ManualClock) => new DatabaseHealth(clock, true)

  test.each([
    [0, null],
    [1_990, null],
    [-1_990, null],
    [2_020, 'clock-skew'],
    [-2_020, 'clock-skew'],
    [3_600_000, 'clock-skew'],
  ])('a clock skew of %d ms: %s', async (ms, problem) => {
    const clock = new ManualClock()
    const health = healthAt(clock)
    expect([health.problem, health.skewMs]).toEqual(['no-catalogue', null])
    await health.check(databaseBehind(clock, ms))
    expect([health.problem, health.skewMs]).toEqual([problem, ms])
  })

  test.each<[number, number]>([
    [0, 20_000],
    [20_000, 0],
    [9_000, 11_000],
  ])('delays of %d and %d ms cause no false alarm', async (there, back) => {
    const clock = new ManualClock()
    const health = healthAt(clock)
    await health.check(databaseBehind(clock, 0, [there, back]))
    expect(health.problem).toBeNull()
  })

  test('each check compares the clocks again', async () => {
    const clock = new ManualClock()
    const health = healthAt(clock)
    await health.check(databaseBehind(clock, 60_000))
    await health.check(databaseBehind(clock, -100))
    expect([health.problem, health.skewMs]).toEqual([null, -100])
  })

  test('reports a read-only database, and one silent for five seconds', async () => {
    const clock = new ManualClock()
    const health = healthAt(clock)
    const database = databaseBehind(clock, 0)
    database.state.isReadOnly = true
    await health.check(database)
    expect(health.problem).toBe('no-catalogue')
    database.state.isReadOnly = false
    await health.check(database)
    expect(health.problem).toBeNull()
    clock.advance(5_000)
    expect(health.problem).toBeNull()
    clock.advance(1)
    expect(health.problem).toBe('no-catalogue')
  })

  test('ignores the clock of a host program', async () => {
    const clock = new ManualClock()
    const health = new DatabaseHealth(clock)
    await health.check(databaseBehind(clock, 3_600_000))
    expect([health.problem, health.skewMs]).toEqual([null, null])
  })
})
