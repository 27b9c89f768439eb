import { expect, test } from 'vitest'
import { torture } from './torture.ts'

const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

test('a server that is killed again and again, on a disk that fails, loses nothing and leaves nothing', async () => {
  console.log(`torture: seed ${SEED}`)
  const { rounds, acknowledged } = await torture({ rounds: 3, seed: SEED })
  expect(rounds).toBe(3)
  // So that it cannot pass by doing nothing; a round lasts, so how much it does is the machine's.
  expect(acknowledged).toBeGreaterThanOrEqual(3)
}, 180_000)
