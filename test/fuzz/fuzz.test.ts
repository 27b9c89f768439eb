import { expect, test } from 'vitest'
import { needsPostgres } from '../support/postgres-server.ts'
import { fuzz } from './fuzz.ts'

const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const MiB = 1024 ** 2

const check = async (postgres: boolean): Promise<void> => {
  console.log(`fuzz: seed ${SEED}`)
  const { statuses, longestStallMs, growth } = await fuzz({ requests: 1_500, seed: SEED, postgres })
  expect(longestStallMs, 'the loop stood still, in milliseconds').toBeLessThan(1_500)
  expect(growth.bytes).toBeLessThan(200 * MiB)
  expect(growth.files).toBeLessThan(50)
  // So that it cannot pass by being refused at the door.
  for (const status of [200, 201, 400, 401, 404, 405]) expect(statuses.get(status), `${status}`).toBeGreaterThan(0)
}

test('generated requests bring no undocumented 5xx, hang, stall, leak or crash', () => check(false), 180_000)

const options = { ...needsPostgres, timeout: 180_000 }
test('generated requests bring none of these with a catalogue in PostgreSQL', options, () => check(true))
