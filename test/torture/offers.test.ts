import { expect, test } from 'vitest'
import { needs } from '../support/needs.ts'
import { hasPostgres } from '../support/postgres-server.ts'
import { tortureOffers } from './fleet/offers.ts'

const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''
/** Enough for each kill to find offers. */
const OFFERS = 48

test('nodes take the offers of a removed cluster, whichever step is killed', {
  timeout: 1_200_000,
  ...needs(isHeavy && hasPostgres, 'needs HOLDFAST_TEST_HEAVY=1 and PostgreSQL'),
}, async () => {
  const steps: string[] = []
  await tortureOffers(OFFERS, step => steps.push(step))
  expect(steps.at(-1)).toContain('nothing is left')
})
