import { expect, test } from 'vitest'
import { findKubo } from '../../interop/kubo.ts'
import { findIpfsCluster } from '../../support/ipfs-cluster.ts'
import { needs } from '../../support/needs.ts'
import { openPlace } from './places.ts'
import { torturePlace } from './torture.ts'

const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''
const missing = 'needs HOLDFAST_TEST_HEAVY=1 and the programs that keep a cluster'

test('a node with Kubo clusters survives crashes, stops and lies', {
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

test('a node with IPFS Cluster survives crashes of peers', {
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

test('refuses an unknown kind of cluster', () => {
  expect(() => openPlace('another')).toThrow('--cluster another: a cluster is kept by holdfast, kubo or ipfs-cluster')
})
