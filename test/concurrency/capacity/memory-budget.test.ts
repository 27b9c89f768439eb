import { describe, expect, test } from 'vitest'
import { MemoryBudget } from '../../../src/concurrency/capacity/memory-budget.ts'
import { chargeWork, underName } from '../../../src/concurrency/work.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const KIB = 1024
const never = new AbortController().signal

function budget(kib: number): { budget: MemoryBudget; clock: ManualClock } {
  const clock = new ManualClock()
  return { budget: MemoryBudget.of(kib * KIB, clock), clock }
}

describe('the budget of memory', () => {
  test('makes callers wait for memory, in order', async () => {
    const { budget: memory } = budget(10)
    await memory.take(8 * KIB, never)
    const order: string[] = []
    const second = memory.take(4 * KIB, never).then(() => order.push('second'))
    const third = memory.take(2 * KIB, never).then(() => order.push('third'))
    await Promise.resolve()
    expect([order, memory.used]).toEqual([[], 8 * KIB])
    memory.give(8 * KIB)
    await Promise.all([second, third])
    expect([order, memory.used]).toEqual([['second', 'third'], 6 * KIB])
  })

  test('is shared by the owners that wait', async () => {
    const { budget: memory } = budget(10)
    await memory.take(10 * KIB, never)
    const order: string[] = []
    const take = (owner: string): Promise<void> =>
      underName('answer', async () => {
        chargeWork(owner)
        await memory.take(5 * KIB, never)
        order.push(owner)
        memory.give(5 * KIB)
      })
    const waiting = [...Array.from({ length: 5 }, () => take('crowd')), take('other')]
    memory.give(10 * KIB)
    await Promise.all(waiting)
    expect(order.indexOf('other')).toBeLessThanOrEqual(2)
  })

  test('refuses a caller after 15 s and serves the next', async () => {
    const { budget: memory, clock } = budget(10)
    await memory.take(10 * KIB, never)
    const late = memory.take(10 * KIB, never)
    clock.advance(15_000)
    await expect(late).rejects.toMatchObject({ code: 'UNAVAILABLE', details: { retryAfter: 5 } })
    memory.give(10 * KIB)
    await memory.take(10 * KIB, never)
    expect(memory.used).toBe(10 * KIB)
  })

  test('ends a wait with its signal', async () => {
    const { budget: memory } = budget(10)
    await memory.take(10 * KIB, never)
    const ending = new AbortController()
    const waiting = memory.take(KIB, ending.signal)
    ending.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
  })

  test('is divided among threads, and free after a thread ends', async () => {
    const { budget: memory, clock } = budget(10)
    const other = new MemoryBudget(memory.shareFor(1), clock)
    await other.take(5 * KIB, never)
    await memory.take(5 * KIB, never)
    expect([memory.used, other.used, memory.isScarce]).toEqual([10 * KIB, 10 * KIB, true])
    const waiting = memory.take(5 * KIB, never)
    memory.forget(1)
    // The next take or give gets the part of the ended thread.
    memory.give(5 * KIB)
    await waiting
    await memory.take(5 * KIB, never)
    expect(memory.used).toBe(10 * KIB)
  })
})
