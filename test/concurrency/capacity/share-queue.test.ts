import { expect, test } from 'vitest'
import { ShareQueue } from '../../../src/concurrency/capacity/share-queue.ts'

/** Takes all items, and charges each its cost by owner. Returns them in order. */
function drain(queue: ShareQueue<string>, costs: Record<string, number> = {}): string[] {
  const order: string[] = []
  for (let next = queue.take(); next !== null; next = queue.take()) {
    order.push(next.item)
    queue.charge(next.owner, costs[next.owner] ?? 1)
  }
  return order
}

function queueOf(...items: [owner: string, item: string][]): ShareQueue<string> {
  const queue = new ShareQueue<string>()
  for (const [owner, item] of items) queue.add(owner, item)
  return queue
}

test('owners with equal use take turns', () => {
  const queue = queueOf(['a', 'a1'], ['a', 'a2'], ['a', 'a3'], ['b', 'b1'], ['b', 'b2'])
  expect(drain(queue)).toEqual(['a1', 'b1', 'a2', 'b2', 'a3'])
})

test('an owner waits until others have used as much', () => {
  const queue = queueOf(['a', 'a1'], ['a', 'a2'], ['b', 'b1'], ['b', 'b2'], ['b', 'b3'], ['b', 'b4'])
  expect(drain(queue, { a: 2.5 })).toEqual(['a1', 'b1', 'b2', 'b3', 'a2', 'b4'])
})

test('an owner without waiting items stays charged while others wait', () => {
  const queue = queueOf(['a', 'a1'], ['b', 'b1'], ['b', 'b2'])
  expect(queue.take()?.item).toBe('a1')
  queue.charge('a', 1.5)
  queue.add('a', 'a2')
  expect(drain(queue)).toEqual(['b1', 'b2', 'a2'])
})

test('an owner that was idle has no credit', () => {
  const queue = queueOf(['a', 'a1'], ['a', 'a2'], ['a', 'a3'], ['a', 'a4'])
  for (let taken = 0; taken < 3; taken++) queue.charge(queue.take()?.owner ?? '', 10)
  for (const item of ['b1', 'b2', 'b3']) queue.add('b', item)
  queue.add('a', 'a5')
  // The use of `a` is 30. That of `b` starts at 20, the use of `a` when it was last served.
  expect(drain(queue, { a: 10, b: 10 })).toEqual(['b1', 'a4', 'b2', 'a5', 'b3'])
})

test('use is forgotten once nobody waits', () => {
  const queue = queueOf(['a', 'a1'])
  queue.take()
  queue.charge('a', 100)
  queue.add('a', 'a2')
  queue.add('b', 'b1')
  expect(drain(queue)).toEqual(['a2', 'b1'])
})

test('a removed item is not served', () => {
  const queue = queueOf(['a', 'a1'], ['a', 'a2'])
  queue.remove('a', 'a1')
  queue.remove('b', 'a2')
  expect([queue.size, drain(queue), queue.size]).toEqual([1, ['a2'], 0])
})
