import { expect, test } from 'vitest'
import { playModel } from './catalogue-model.ts'
import { inSqlite } from './model-store.ts'

test('ledger and catalogue do what a model of them does, whatever is cut short', async () => {
  const { played, cuts } = await playModel(inSqlite, { runs: Number(process.env.MODEL_RUNS ?? 40), maxLength: 120 })
  expect(played).toBeGreaterThan(1_000)
  expect(cuts).toBeGreaterThan(50)
}, 180_000)
