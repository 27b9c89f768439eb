import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { playVisibility } from './visibility-model.ts'

const RUNS = Number(process.env.MODEL_RUNS ?? 12)
const TIMEOUT = Math.max(240_000, RUNS * 30_000)

test('strangers and accounts read what the model allows', { timeout: TIMEOUT }, async () => {
  expect(await playVisibility(async () => ({}), { runs: RUNS, maxLength: 25 })).toBeGreaterThan(RUNS)
})

describe('with a catalogue in PostgreSQL', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  test('strangers and accounts read what the model allows', { timeout: TIMEOUT }, async () => {
    const options = async () => ({ database: await server.migrated() })
    expect(await playVisibility(options, { runs: Math.ceil(RUNS / 3), maxLength: 20 })).toBeGreaterThan(5)
  })
})
