import { expect, test } from 'vitest'
import { CopyHistory } from './copy-histories.ts'

const HISTORIES = Number(process.env.HOLDFAST_TEST_HISTORIES ?? 1_000)

test('random histories in memory keep all copies, and no more', { timeout: 600_000 }, () => {
  const wrong: string[] = []
  for (let seed = 1; seed <= HISTORIES && wrong.length === 0; seed++) {
    const history = new CopyHistory(seed)
    try {
      history.run()
    } catch (error) {
      wrong.push(`seed ${seed}: ${(error as Error).message}`, ...history.log)
    }
  }
  expect(wrong).toEqual([])
})
