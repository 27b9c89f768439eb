import { expect, test } from 'vitest'
import { needsPostgres } from '../support/postgres-server.ts'
import type { Blow } from './fleet/blows.ts'
import { tortureFleet } from './fleet/fleet.ts'

const BLOWS: readonly Blow[] = ['leave for long', 'wipe a node and forget it', 'lose the answers of two nodes']

test('a wiped node loses nothing that another node has copied', { timeout: 600_000, ...needsPostgres }, async () => {
  const options = { rounds: BLOWS.length, seed: 1 }
  const { rounds, acknowledged } = await tortureFleet(options, { nodes: 3, copies: 2, blows: BLOWS })
  expect(rounds).toBe(BLOWS.length)
  expect(acknowledged).toBeGreaterThanOrEqual(5)
})
