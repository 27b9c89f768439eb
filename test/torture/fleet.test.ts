import { expect, test } from 'vitest'
import { needs } from '../support/needs.ts'
import { hasPostgres } from '../support/postgres-server.ts'
import { tortureFleet } from './fleet.ts'

const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''

test('two nodes on one database, each of which is killed or stands still, lose nothing and leave nothing', {
  timeout: 600_000,
  ...needs(isHeavy && hasPostgres, 'two nodes are tortured with HOLDFAST_TEST_HEAVY=1 and PostgreSQL only'),
}, async () => {
  console.log(`torture of two nodes: seed ${SEED}`)
  const { rounds, acknowledged } = await tortureFleet({ rounds: 5, seed: SEED })
  expect(rounds).toBe(5)
  expect(acknowledged).toBeGreaterThanOrEqual(5)
})
