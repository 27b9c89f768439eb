import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { playVisibility, type VisibilityStep } from './visibility-model.ts'

const RUNS = Number(process.env.MODEL_RUNS ?? 12)
const TIMEOUT = Math.max(240_000, RUNS * 30_000)
/** Plans that once failed. */
const examples: VisibilityStep[][] = [
  [
    { do: 'upload', account: 0, content: 0, visibility: 'public', expires: 20 },
    { do: 'deleteAll', account: 0 },
    { do: 'pass', seconds: 30 },
    { do: 'undo', pick: 0 },
  ],
]

test('strangers and accounts read what the model allows', { timeout: TIMEOUT }, async () => {
  expect(await playVisibility(async () => ({}), { runs: RUNS, maxLength: 25, examples })).toBeGreaterThan(RUNS)
})

describe('with a catalogue in PostgreSQL', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  test('strangers and accounts read what the model allows', { timeout: TIMEOUT }, async () => {
    const options = async () => ({ database: await server.migrated() })
    expect(await playVisibility(options, { runs: Math.ceil(RUNS / 3), maxLength: 20, examples })).toBeGreaterThan(5)
  })
})
