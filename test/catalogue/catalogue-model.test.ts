import { expect, test } from 'vitest'
import { playModel } from './catalogue-model.ts'
import { inSqlite } from './model-store.ts'

test('ledger and catalogue do what a model of them does, whatever is cut short', async () => {
  const runs = Number(process.env.MODEL_RUNS ?? 40)
  const { played, cuts } = await playModel(inSqlite, { runs, maxLength: 120, shrinks: true })
  expect(played).toBeGreaterThan(1_000)
  expect(cuts).toBeGreaterThan(50)
}, 180_000)
