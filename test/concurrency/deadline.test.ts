import { describe, expect, test } from 'vitest'
import { Deadline, within } from '../../src/concurrency/deadline.ts'
import { ManualClock } from '../support/manual-clock.ts'

const late = (): Error => new Error('late')

describe('a deadline', () => {
  test('aborts its signal after the time without progress', () => {
    const clock = new ManualClock()
    const deadline = new Deadline({ clock, ms: 1_000, late })
    clock.advance(999)
    deadline.moved()
    clock.advance(999)
    expect([deadline.isOver, deadline.signal.aborted]).toEqual([false, false])
    clock.advance(1)
    expect([deadline.isOver, deadline.signal.reason]).toEqual([true, late()])
  })

  test('stops while it rests, and runs again after progress', () => {
    const clock = new ManualClock()
    const deadline = new Deadline({ clock, ms: 1_000, late })
    deadline.rest()
    clock.advance(5_000)
    expect([clock.waiting, deadline.isOver]).toEqual([0, false])
    deadline.moved()
    clock.advance(1_000)
    expect(deadline.isOver).toBe(true)
  })

  test('aborts with another signal and its reason, and is not over', () => {
    const clock = new ManualClock()
    const given = new AbortController()
    const deadline = new Deadline({ clock, ms: 1_000, late, signal: given.signal })
    given.abort('gone')
    expect([deadline.signal.reason, deadline.isOver]).toEqual(['gone', false])
    deadline.rest()
    expect(clock.waiting).toBe(0)
  })
})

describe('work within a time', () => {
  const untilAborted = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })

  test('returns its result and leaves no timer behind', async () => {
    const clock = new ManualClock()
    expect(await within({ clock, ms: 1_000, late }, async () => 'done')).toBe('done')
    const failed = within({ clock, ms: 1_000, late }, () => Promise.reject(new Error('failed')))
    await expect(failed).rejects.toThrow('failed')
    expect(clock.waiting).toBe(0)
  })

  test('ends in time, or with the signal', async () => {
    const clock = new ManualClock()
    const slow = within({ clock, ms: 1_000, late }, untilAborted)
    clock.advance(1_000)
    await expect(slow).rejects.toThrow('late')
    const given = new AbortController()
    const left = within({ clock, ms: 1_000, late, signal: given.signal }, untilAborted)
    given.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    expect(clock.waiting).toBe(0)
  })
})
