import { afterEach, expect, test, vi } from 'vitest'
import { rowsOfTurn } from '../../src/storage/rows-of-turn.ts'
import { turns } from '../support/content-parts.ts'

afterEach(() => vi.restoreAllMocks())

/** Yields rows that take 10 ms each, as from a slow disk. */
function* slow(): Generator<number> {
  for (let row = 0; row < 5; row++) {
    const from = performance.now()
    while (performance.now() - from < 10);
    yield row
  }
}

test('takes slow rows one by one, even in a spent turn', async () => {
  await turns(2)
  expect(rowsOfTurn(slow())).toEqual([0])
  expect(rowsOfTurn([1, 2])).toEqual([1])
  expect(rowsOfTurn([])).toEqual([])
})

test('takes all fast rows', async () => {
  await turns(2)
  vi.spyOn(performance, 'now').mockReturnValue(0)
  expect(rowsOfTurn([1, 2, 3])).toEqual([1, 2, 3])
})
