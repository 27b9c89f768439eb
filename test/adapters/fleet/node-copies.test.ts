import { expect, test } from 'vitest'
import { CopyNews, nodeCopies } from '../../../adapters/fleet/node-copies.ts'
import type { ApiRequest } from '../../../src/http/api-messages.ts'
import { ManualClock } from '../../support/manual-clock.ts'

/** Returns the nodes that learn of content, and the news for them. */
function newsOf() {
  const told: string[] = []
  const clock = new ManualClock()
  const send = async (node: string) => {
    told.push(node)
    return { status: 200, headers: {}, body: (async function* () {})() }
  }
  return { told, clock, news: new CopyNews({ send }, clock) }
}

test('tells each node at most once in 50 ms', () => {
  const { told, clock, news } = newsOf()
  for (let i = 0; i < 100; i++) news.tell(['b', 'c'])
  clock.advance(49)
  expect(told).toEqual([])
  clock.advance(1)
  expect(told).toEqual(['b', 'c'])
  news.tell(['c'])
  clock.advance(50)
  expect(told).toEqual(['b', 'c', 'c'])
})

test('a stop leaves no news and no timer', () => {
  const { told, clock, news } = newsOf()
  news.tell(['b'])
  news.stop()
  news.tell(['c'])
  clock.advance(1_000)
  expect([told, clock.waiting]).toEqual([[], 0])
})

test('news make a node look for copies', async () => {
  let looks = 0
  const answer = await nodeCopies(() => looks++)({} as ApiRequest)
  expect([answer.status, looks]).toEqual([200, 1])
})
