import { describe, expect, test } from 'vitest'
import { Deadline, within } from '../../src/concurrency/deadline.ts'
import { ManualClock } from '../support/manual-clock.ts'

const late = (): Error => new Error('late')

describe('a deadline', () => {
  test('ends its signal once nothing has moved for so long', () => {
    const clock = new ManualClock()
    const deadline = new Deadline({ clock, ms: 1_000, late })
    clock.advance(999)
    deadline.moved()
    clock.advance(999)
    expect([deadline.isOver, deadline.signal.aborted]).toEqual([false, false])
    clock.advance(1)
    expect([deadline.isOver, deadline.signal.reason]).toEqual([true, late()])
  })

  test('waits for nothing while it rests, and goes on with what moves next', () => {
    const clock = new ManualClock()
    const deadline = new Deadline({ clock, ms: 1_000, late })
    deadline.rest()
    clock.advance(5_000)
    expect([clock.waiting, deadline.isOver]).toEqual([0, false])
    deadline.moved()
    clock.advance(1_000)
    expect(deadline.isOver).toBe(true)
  })

  test('ends with another signal, for its reason, and is not over by that', () => {
    const clock = new ManualClock()
    const given = new AbortController()
    const deadline = new Deadline({ clock, ms: 1_000, late, signal: given.signal })
    given.abort('gone')
    expect([deadline.signal.reason, deadline.isOver]).toEqual(['gone', false])
    deadline.rest()
    expect(clock.waiting).toBe(0)
  })
})

describe('what is done within a time', () => {
  const untilAborted = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })

  test('comes to what it comes to, and leaves no timer behind', async () => {
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
