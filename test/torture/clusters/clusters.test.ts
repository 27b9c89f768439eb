import { expect, test } from 'vitest'
import { findKubo } from '../../interop/kubo.ts'
import { findIpfsCluster } from '../../support/ipfs-cluster.ts'
import { needs } from '../../support/needs.ts'
import { openPlace } from './places.ts'
import { torturePlace } from './torture.ts'

const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''
const missing = 'clusters are tortured with HOLDFAST_TEST_HEAVY=1 and the programs that keep them only'

test('a node whose clusters a Kubo keeps, either of which is killed, stopped or lied to, loses nothing and leaves nothing', {
  timeout: 900_000,
  ...needs(isHeavy && findKubo() !== null, missing),
}, async () => {
  console.log(`torture with a Kubo: seed ${SEED}`)
  const { rounds, acknowledged } = await torturePlace({
    ...{ rounds: 7, seed: SEED, open: openPlace('kubo'), isShared: false },
  })
  expect(rounds).toBe(7)
  expect(acknowledged).toBeGreaterThanOrEqual(7)
})

test('a node whose clusters an IPFS Cluster keeps, peers of which are killed one by one and all, loses nothing and leaves nothing', {
  timeout: 1_200_000,
  ...needs(isHeavy && findIpfsCluster() !== null, missing),
}, async () => {
  console.log(`torture with an IPFS Cluster: seed ${SEED}`)
  const { rounds, acknowledged } = await torturePlace({
    ...{ rounds: 7, seed: SEED, open: openPlace('ipfs-cluster'), isShared: false },
  })
  expect(rounds).toBe(7)
  expect(acknowledged).toBeGreaterThanOrEqual(7)
})

test('there are no other kinds than those that have a name', () => {
  expect(() => openPlace('another')).toThrow('--cluster another: a cluster is kept by holdfast, kubo or ipfs-cluster')
})
