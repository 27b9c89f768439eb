import { expect, test } from 'vitest'
import { FAILED_PLANS, play, playModel } from './catalogue-model.ts'
import { inSqlite } from './model-store.ts'

const RUNS = Number(process.env.MODEL_RUNS ?? 40)

test(
  'ledger and catalogue match their model despite crashes at any write',
  async () => {
    const { played, cuts } = await playModel(inSqlite, { runs: RUNS, maxLength: 120, shrinks: true })
    expect(played).toBeGreaterThan(1_000)
    expect(cuts).toBeGreaterThan(50)
  },
  Math.max(180_000, RUNS * 10_000),
)

test.each(Object.keys(FAILED_PLANS))('passes plans that once failed: %s', async name => {
  for (const plan of FAILED_PLANS[name] ?? []) await play(plan, inSqlite)
})
