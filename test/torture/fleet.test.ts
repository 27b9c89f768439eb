import { expect, test } from 'vitest'
import { needs } from '../support/needs.ts'
import { hasPostgres } from '../support/postgres-server.ts'
import { tortureFleet } from './fleet.ts'

const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''

test('two nodes on one database survive crashes and suspensions', {
  timeout: 600_000,
  ...needs(isHeavy && hasPostgres, 'needs HOLDFAST_TEST_HEAVY=1 and PostgreSQL'),
}, async () => {
  console.log(`torture of two nodes: seed ${SEED}`)
  const { rounds, acknowledged } = await tortureFleet({ rounds: 5, seed: SEED })
  expect(rounds).toBe(5)
  expect(acknowledged).toBeGreaterThanOrEqual(5)
})
