import { expect, test } from 'vitest'
import { needs } from '../support/needs.ts'
import { hasPostgres } from '../support/postgres-server.ts'
import { ALL_BLOWS } from './fleet/blows.ts'
import { tortureFleet } from './fleet/fleet.ts'

const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''

test('three nodes on one database survive each failure', {
  timeout: 600_000,
  ...needs(isHeavy && hasPostgres, 'needs HOLDFAST_TEST_HEAVY=1 and PostgreSQL'),
}, async () => {
  console.log(`torture of three nodes: seed ${SEED}`)
  const { rounds, acknowledged } = await tortureFleet({ rounds: ALL_BLOWS.length, seed: SEED })
  expect(rounds).toBe(ALL_BLOWS.length)
  expect(acknowledged).toBeGreaterThanOrEqual(5)
})
