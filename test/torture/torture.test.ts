import { expect, test } from 'vitest'
import { torture } from './torture.ts'

const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

test('a server killed repeatedly on a failing disk loses nothing', async () => {
  console.log(`torture: seed ${SEED}`)
  const { rounds, acknowledged } = await torture({ rounds: 3, seed: SEED })
  expect(rounds).toBe(3)
  // Without this, a test that does nothing would pass. A slow machine acknowledges little in a round.
  expect(acknowledged).toBeGreaterThanOrEqual(3)
}, 180_000)
