import * as dagJson from '@ipld/dag-json'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { describe, expect, test } from 'vitest'
import type { PinJob } from '../../../src/clusters/cluster-backend.ts'
import { CODEC, identityOf } from '../../../src/ipld/cid.ts'
import { Outside } from '../../clusters/backend.suite.ts'
import { until } from '../../clusters/remote-support.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { onRealCluster, type Reached, realCluster } from './reached.ts'
import { withBackend } from './under-test.ts'

const content = (what: string) => pseudoRandom(1024 ** 2 + 5_000, what)

describe('a real IPFS Cluster of three peers', onRealCluster, () => {
  const cluster = realCluster()
  const reached = (): Reached => {
    const { api, gateway, rpcUrl: rpc } = cluster().first
    return { api, gateway, rpc }
  }

  test('keeps content while users change pins of the same root', async () => {
    const { first } = cluster()
    await withBackend(reached(), async ({ backend }) => {
      const source = new Outside()
      const root = await source.add(content('theirs'))
      const job = { hold: 'one', root, source, origins: [] }
      await backend.pin(job)
      await first.ask('POST', `/pins/${root}?name=theirs&replication-min=1&replication-max=1`)
      await backend.unpin('one', identityOf(root))
      expect(JSON.parse(await first.ask('GET', `/allocations/${root}`))).toMatchObject({ name: 'theirs' })
      await backend.pin(job)
      await first.ask('DELETE', `/pins/${root}`)
      expect((await backend.status(identityOf(root))).state).toBe('pinned')
      await first.rpc('repo/gc?quiet=true')
      expect((await first.rpc(`dag/stat?arg=${root}&progress=false&offline=true`)).length).toBeGreaterThan(0)
    })
  })

  test('pins content once a needed peer is back', async () => {
    const [, , third] = cluster().peers
    await withBackend(reached(), async ({ backend }) => {
      const source = new Outside()
      const root = await source.add(content('away'))
      const job = { hold: 'one', root, source, origins: [] }
      await backend.pin(job)
      await third?.endKubo('SIGKILL')
      await until('it is missed', async () => (await backend.status(identityOf(root))).state !== 'pinned')
      const { allocations } = await backend.status(identityOf(root))
      expect(allocations.map(({ state }) => state).sort()).toEqual(['failed', 'pinned', 'pinned'])
      expect(allocations.find(({ state }) => state === 'failed')?.error).toContain('cluster_error')
      await third?.startKubo()
      await until('it is there', async () => (await backend.status(identityOf(root))).state === 'pinned')
    })
  })

  test('pins and unpins each of many small DAGs', async () => {
    await withBackend(reached(), async ({ backend }) => {
      const source = new Outside()
      const jobs: PinJob[] = []
      for (let i = 0; i < 20; i++) {
        const root = await source.addFolder([content(`small ${i}`).subarray(0, 4_000), Buffer.from(`${i}`)])
        jobs.push({ hold: 'one', root, source, origins: [] })
      }
      await Promise.all(jobs.map(job => backend.pin(job)))
      for (const { root } of jobs) {
        const status = await backend.status(identityOf(root))
        expect(status.allocations.filter(({ state }) => state === 'pinned').length).toBeGreaterThan(1)
      }
      await Promise.all(jobs.map(({ root }) => backend.unpin('one', identityOf(root))))
      for (const { root } of jobs) expect((await backend.status(identityOf(root))).state).toBe('unpinned')
    })
  })

  test('has a DAG of another codec only by its place', async () => {
    await withBackend(reached(), async ({ backend }) => {
      const bytes = dagJson.encode({ what: 'a document' })
      const root = CID.createV1(CODEC.dagJson, await sha256.digest(bytes))
      const pinning = backend.pin({ hold: 'one', root, source: { read: async () => bytes }, origins: [] })
      await expect(pinning).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('0x129') })
      // One Kubo of the cluster has the DAG and serves as its origin.
      const [, second] = cluster().peers
      await second?.put(bytes, 'dag-json')
      const { Addresses } = JSON.parse((await second?.rpc('id')) ?? '') as { Addresses: string[] }
      await backend.pin({ hold: 'one', root, source: { read: async () => bytes }, origins: Addresses })
      expect((await backend.status(identityOf(root))).state).toBe('pinned')
    })
  })
})
