import { expect, test } from 'vitest'
import { CopyHistory } from './copy-histories.ts'

const HISTORIES = Number(process.env.HOLDFAST_TEST_HISTORIES ?? 1_000)
const STEPS = 40
const LONG_STEPS = 400

/** Returns the first history that breaks a rule, step by step. */
function firstWrong(histories: number, steps: number, isBroken: boolean): string[] {
  for (let seed = 1; seed <= histories; seed++) {
    const history = new CopyHistory(seed, isBroken)
    try {
      history.run(steps)
    } catch (error) {
      return [`seed ${seed}: ${(error as Error).message}`, ...history.log]
    }
  }
  return []
}

test('random histories in memory keep all copies, and no more', { timeout: 600_000 }, () => {
  expect(firstWrong(HISTORIES, STEPS, false)).toEqual([])
})

test('broken networks, wiped disks and clocks apart lose no copies', { timeout: 600_000 }, () => {
  expect(firstWrong(HISTORIES / 5, LONG_STEPS, true)).toEqual([])
})
