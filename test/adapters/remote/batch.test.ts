import { expect, test } from 'vitest'
import { Batch } from '../../../adapters/remote/batch.ts'

const live = new AbortController().signal

/** A batch whose requests the test answers by hand. */
function byHand(retryAlone = false, maxItems = 3) {
  const asked: Array<{ items: readonly string[]; answer: () => void; fail: () => void }> = []
  const ask = (items: readonly string[]): Promise<string[]> => {
    const { promise, resolve, reject } = Promise.withResolvers<string[]>()
    const answer = (): void => resolve(items.map(item => item.toUpperCase()))
    asked.push({ items, answer, fail: () => reject(new Error(`not ${items.join(', ')}`)) })
    return promise
  }
  return { asked, batch: new Batch<string, string>({ maxItems, ask, retryAlone }) }
}

const turns = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
const together = (asked: ReadonlyArray<{ items: readonly string[] }>) => asked.map(({ items }) => items.join(''))

test('combines calls during a request, up to a maximum', async () => {
  const { asked, batch } = byHand()
  const answers = [...'abcdef'].map(item => batch.of(item, live))
  await turns()
  answers.push(batch.of('g', live))
  expect(together(asked)).toEqual(['abc'])
  for (let i = 0; i < 3; i++) {
    asked[i]?.answer()
    await turns()
  }
  expect(together(asked)).toEqual(['abc', 'def', 'g'])
  expect(await Promise.all(answers)).toEqual([...'ABCDEFG'])
})

test('an aborted call neither ends the batch nor stays queued', async () => {
  const { asked, batch } = byHand()
  const leaving = new AbortController()
  const first = batch.of('a', leaving.signal)
  const other = batch.of('b', live)
  await turns()
  const waiting = batch.of('c', leaving.signal)
  const last = batch.of('d', live)
  leaving.abort(new Error('gone'))
  await expect(first).rejects.toThrow('gone')
  await expect(waiting).rejects.toThrow('gone')
  asked[0]?.answer()
  expect(await other).toBe('B')
  await turns()
  asked[1]?.answer()
  expect(await last).toBe('D')
  expect(together(asked)).toEqual(['ab', 'd'])
})

test('retries the calls of a failed batch alone', async () => {
  const { asked, batch } = byHand(true)
  const leaving = new AbortController()
  const answers = Promise.allSettled([batch.of('a', live), batch.of('b', live), batch.of('c', leaving.signal)])
  await turns()
  leaving.abort()
  asked[0]?.fail()
  await turns()
  expect(together(asked)).toEqual(['abc', 'a', 'b'])
  asked[1]?.fail()
  asked[2]?.answer()
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected'])
  const next = batch.of('d', live)
  await turns()
  asked[3]?.fail()
  await expect(next).rejects.toThrow('not d')
})

test('rejects all calls with the cause of the failure', async () => {
  const { asked, batch } = byHand()
  const answers = Promise.allSettled([batch.of('a', live), batch.of('b', live)])
  await turns()
  asked[0]?.fail()
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(asked).toHaveLength(1)
})
