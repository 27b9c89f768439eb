import { describe, expect, test } from 'vitest'
import { Semaphore } from '../../../src/concurrency/capacity/semaphore.ts'

describe('a semaphore', () => {
  test('takes turns between owners, each in order', async () => {
    const semaphore = new Semaphore(1)
    const first = semaphore.enter('a')
    const order: string[] = []
    const all = ['a1', 'a2', 'a3', 'b1'].map(async name => {
      const { entered, leave } = semaphore.enter(name.slice(0, 1))
      await entered
      order.push(name)
      leave()
    })
    first.leave()
    await Promise.all(all)
    expect([order, semaphore.used]).toEqual([['a1', 'b1', 'a2', 'a3'], 0])
  })

  test('serves the next request once the one before it leaves the queue', async () => {
    const semaphore = new Semaphore(4)
    const [held, gone] = [semaphore.enter('a', 3), semaphore.enter('a', 1)]
    const large = semaphore.enter('a', 4)
    const small = semaphore.enter('b', 1)
    gone.leave()
    expect([semaphore.used, semaphore.waiting]).toEqual([3, 2])
    large.leave()
    await small.entered
    expect([semaphore.used, semaphore.waiting]).toEqual([4, 0])
    for (const { leave } of [held, small, large]) leave()
    expect(semaphore.used).toBe(0)
  })

  test('forgets a request that leaves from behind, and counts no pass twice', async () => {
    const semaphore = new Semaphore(1)
    const held = semaphore.enter('a')
    const [next, behind, last] = [semaphore.enter('a'), semaphore.enter('b'), semaphore.enter('c')]
    behind.leave()
    held.leave()
    held.leave()
    await next.entered
    expect([semaphore.used, semaphore.waiting]).toEqual([1, 1])
    next.leave()
    await last.entered
    last.leave()
    expect(semaphore.used).toBe(0)
  })

  test('admits a request for more than its capacity alone', () => {
    const semaphore = new Semaphore(2)
    expect(semaphore.acquire(5)).toBeNull()
    expect(semaphore.acquire(1)).not.toBeNull()
    semaphore.release(5)
    expect(semaphore.used).toBe(1)
  })
})
