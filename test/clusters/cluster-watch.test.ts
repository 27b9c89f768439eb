import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { PrometheusMetrics } from '../../adapters/node-http/prometheus-metrics.ts'
import type { BackendStatus, ClusterBackend } from '../../src/clusters/cluster-backend.ts'
import { ClusterWatch } from '../../src/clusters/cluster-watch.ts'
import { identityOf } from '../../src/ipld/cid.ts'
import { callApi } from '../support/api-call.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { turns } from '../support/content-parts.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { withEngine } from '../support/test-engine.ts'
import { MemoryCluster } from './memory-cluster.ts'
import { statusOf, until, withTwoNodes } from './remote-support.ts'

const DAG = identityOf(CID.parse('bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'))
const FAR = 3

/** Makes a watch of one backend whose answers the test sets. */
function watched(answers: Partial<ClusterBackend>) {
  const clock = new ManualClock()
  const backend: ClusterBackend = Object.assign(new MemoryCluster(), answers)
  const placements = { lag: async () => ({ pins: 2, unpins: 1, since: 5 }) }
  const backends = new Map([[FAR, { backend, clusters: ['far', 'far-too'] }]])
  return { clock, watch: new ClusterWatch({ backends, placements, clock }) }
}

const silence = (): Promise<never> => new Promise(() => undefined)

describe('the health of external clusters', () => {
  test('is checked every minute, with backlog and error', async () => {
    const cluster = new MemoryCluster()
    const { watch, clock } = watched({ peers: () => cluster.peers() })
    const started = clock.now()
    expect(await watch.health()).toMatchObject([{ clusters: ['far', 'far-too'], peers: [], lookedAt: null, pins: 2 }])
    watch.start()
    clock.advance(0)
    await turns(1)
    expect(await watch.health()).toEqual([
      {
        ...{ clusters: ['far', 'far-too'], peers: [{ peer: 'memory', freeBytes: 7, error: null }], error: null },
        ...{ lookedAt: started, pins: 2, unpins: 1, since: 5 },
      },
    ])
    cluster.reportedPeers = null
    clock.advance(60_000)
    await turns(1)
    expect(await watch.health()).toMatchObject([{ peers: [], error: 'nobody answers', lookedAt: started + 60_000 }])
    watch.stop()
    expect(clock.waiting).toBe(0)
  })

  test('is an error after ten seconds without answer, and delays no stop', async () => {
    const { watch, clock } = watched({ peers: silence })
    watch.start()
    clock.advance(0)
    await turns(1)
    clock.advance(10_000)
    await turns(1)
    expect(await watch.health()).toMatchObject([{ error: 'it did not answer in time' }])
    clock.advance(60_000)
    await turns(1)
    watch.stop()
    await turns(1)
    expect(clock.waiting).toBe(0)
  })
})

describe('the peers of a pin', () => {
  test('are cached for ten seconds, and at most 64', async () => {
    let asked = 0
    const peer = (n: number) => ({ peer: `p${n}`, state: 'pinned' as const, error: null })
    const status = async (): Promise<BackendStatus> => {
      asked++
      return { state: 'pinned', allocations: Array.from({ length: 100 }, (_, n) => peer(n)) }
    }
    const { watch, clock } = watched({ status })
    const [one, other] = await Promise.all([watch.allocations(FAR, DAG), watch.allocations(FAR, DAG)])
    expect([one?.length, other, asked]).toEqual([64, one, 1])
    clock.advance(9_999)
    await watch.allocations(FAR, DAG)
    expect(asked).toBe(1)
    clock.advance(1)
    await watch.allocations(FAR, DAG)
    expect(asked).toBe(2)
    expect(await watch.allocations(1, DAG)).toBeNull()
  })

  test('are null after three seconds without answer', async () => {
    const { watch, clock } = watched({ status: silence })
    const asked = watch.allocations(FAR, DAG)
    await turns(1)
    clock.advance(3_000)
    expect(await asked).toBeNull()
  })
})

test('a status shows the peers of a pin, their states and errors', async () => {
  const far = new MemoryCluster()
  const allocations = [
    { peer: 'p1', state: 'pinned' as const, error: null },
    { peer: 'p2', state: 'pinned' as const, error: null },
    { peer: 'p3', state: 'failed' as const, error: 'its disk is full' },
    { peer: 'p4', state: 'unpinned' as const, error: null },
  ]
  const told: ClusterBackend = Object.assign(far, { status: async () => ({ state: 'pinned' as const, allocations }) })
  const clusters = ['near', 'far'].map(id => ({ id, label: '', region: '', country: null, gateways: [] }))
  await withEngine(
    async ({ engine, account }) => {
      const { record } = await engine.pins.upload(pseudoRandom(900, 'peers'), { account, cluster: 'far' })
      const status = async () => (await engine.pins.status({ account, cid: record.cid }))[0]
      await until('it is pinned', async () => (await status())?.record.status === 'pinned')
      expect((await status())?.peers).toBeNull()
      const { secret } = await engine.keys.create(account, { name: 'key', scopes: ['files:read'] })
      const ask = (path: string) => callApi(engine, 'GET', path, { authorization: `Bearer ${secret}` })
      const { json } = await ask(`/status/${record.cid}`)
      expect(json.peers).toEqual(['far', 'p1', 'p2', 'p3', 'p4'])
      const lines = json.allocations.map((one: Record<string, string>) => `${one.peer} ${one.status} ${one.error}`)
      const peers = ['p1 pinned null', 'p2 pinned null', 'p3 failed its disk is full', 'p4 queued null']
      expect(lines).toEqual(['far pinned null', ...peers])
      expect((await ask(`/allocations/${record.cid}`)).json.replication_factor).toBe(2)
    },
    { clusters, defaultCluster: 'near', backends: { far: told } },
  )
})

test('another node is a peer with free quota in statistics and metrics', async () => {
  await withTwoNodes(async nodes => {
    const { here, there, account } = nodes
    const { record } = await here.pins.upload(pseudoRandom(900, 'figures'), { account, cluster: 'far' })
    await until('it is pinned', async () => (await statusOf(nodes, record.cid)) === 'pinned')
    await until('it was looked at', async () => (await here.stats()).clusters[0]?.lookedAt !== null)
    const stats = await here.stats()
    expect(stats.clusters).toMatchObject([
      {
        ...{ clusters: ['far', 'far-too'], peers: [{ peer: 'cl1-eu', freeBytes: null, error: null }] },
        ...{ error: null, pins: 0, unpins: 0, since: null },
      },
    ])
    const text = new PrometheusMetrics().text(stats)
    expect(text).toContain('holdfast_cluster_up{cluster="far"} 1')
    expect(text).toContain('holdfast_cluster_peer_up{cluster="far",peer="cl1-eu"} 1')
    expect(text).toContain('holdfast_cluster_waiting{cluster="far",what="pin"} 0')
    await there.stop()
    await here.pins.upload(pseudoRandom(900, 'waits'), { account, cluster: 'far' })
    const waiting = new PrometheusMetrics().text(await here.stats())
    expect(waiting).toContain('holdfast_cluster_waiting{cluster="far",what="pin"} 1')
    expect(waiting).not.toContain('holdfast_cluster_oldest_waiting_timestamp_seconds{cluster="far"} 0')
  })
})
