import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { peersOnNode } from '../../../adapters/fleet/node-peers.ts'
import { kubo } from '../../../adapters/kubo/index.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { identityOf, parseCid } from '../../../src/ipld/cid.ts'
import { MemoryCluster } from '../../clusters/memory-cluster.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { turns } from '../../support/content-parts.ts'
import { type FleetNode, openFleet, TWO_CLUSTERS } from '../../support/fleet.ts'
import { TOKEN } from '../../support/kubo.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { onRealKubo, withRealKubo } from '../kubo/kubo-under-test.ts'
import { bothReportALostPin } from './lost-pin.ts'

/** Another node reacts after a moment, or much later on a busy machine. */
const PATIENCE = { timeout: 60_000, interval: 100 }
const DAG = identityOf(parseCid('bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'))
const AT_A = { node: 'a', cluster: 'first', dag: DAG }

interface Told {
  status: string
  reason: string | null
  lastError: string | null
  allocations?: Array<{ peer: string; status: string; error: string | null }>
}

/** Tells which peer has a pin. */
class ClusterWithPeer extends MemoryCluster {
  override async status(root: typeof DAG) {
    const { state } = await super.status(root)
    return { state, allocations: [{ peer: 'p1', state, error: state === 'pinned' ? null : 'it is gone' }] }
  }
}

describe('the status of a pin in a cluster on another system', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  test('is the same on all nodes, and tells a loss at once', { timeout: 120_000 }, async () => {
    const far = new ClusterWithPeer()
    const database = await server.migrated()
    const config = { database, clock: systemClock, ...TWO_CLUSTERS, backends: { first: far } }
    const { a, b, close } = await openFleet(config)
    const repair = Promise.withResolvers<void>()
    try {
      const { id: account } = await a.engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
      const { secret } = await a.engine.keys.create(account, { name: 'key', scopes: ['files:read'] })
      const { record } = await a.engine.pins.upload(pseudoRandom(900, 'far'), { account, cluster: 'first' })
      const told = async ({ url }: FleetNode) => {
        const answer = await fetch(`${url}/api/v3/status/${record.cid}`, {
          headers: { authorization: `Bearer ${secret}` },
        })
        const { status, reason, lastError, allocations = [] } = (await answer.json()) as Told
        const peers = allocations.map(one => `${one.peer} ${one.status} ${one.error}`)
        return { status, reason, lastError, peers }
      }
      const fine = { status: 'pinned', reason: null, lastError: null }
      const whole = { ...fine, peers: ['first pinned null', 'p1 pinned null'] }
      for (const node of [a, b]) await expect.poll(() => told(node), PATIENCE).toEqual(whole)

      far.beforePin = () => repair.promise
      far.held.clear()
      await a.engine.reconcile()
      const reason = 'the cluster no longer has it; the node sends it again'
      const lost = { status: 'pinning', reason, lastError: reason }
      const peers = [`first pinning ${reason}`, 'p1 queued it is gone']
      expect(await told(a)).toEqual({ ...lost, peers })
      await expect.poll(() => told(b), PATIENCE).toEqual({ ...lost, peers })

      repair.reject(new HoldfastError('UNAVAILABLE', 'its disk is full'))
      const full = 'UNAVAILABLE: its disk is full'
      const unsent = { ...lost, lastError: full, peers: [`first pinning ${full}`, 'p1 queued it is gone'] }
      for (const node of [a, b]) await expect.poll(() => told(node), PATIENCE).toEqual(unsent)

      await a.stop()
      // The catalogue knows the status. Nobody knows the peers.
      expect(await told(b)).toEqual({ ...unsent, peers: [`first pinning ${full}`] })
      far.beforePin = () => undefined
      await a.start()
      for (const node of [a, b]) await expect.poll(() => told(node), PATIENCE).toEqual(whole)
      await a.stop()
      expect(await told(b)).toEqual({ ...fine, peers: ['first pinned null'] })
      await a.start()
      for (const node of [a, b]) await expect.poll(() => told(node), PATIENCE).toEqual(whole)
    } finally {
      // A failed test must not leave the repair waiting, because the node would never stop.
      repair.resolve()
      await close()
    }
  })
})

describe('the status of a pin that a real Kubo has lost', needsPostgres, () => {
  test('reaches all nodes with the first check', onRealKubo, () =>
    withRealKubo(async ({ api }) => {
      const rpc = (path: string) =>
        fetch(`${api}/api/v0/${path}`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` } })
      await bothReportALostPin({
        url: api,
        backend: url => ({ type: 'kubo', api: `${url}/api/v0/`, authEnv: 'KUBO_AUTH' }),
        adapters: [kubo],
        environment: { KUBO_AUTH: `bearer:${TOKEN}` },
        isSend: ({ url }) => url?.includes('dag/import') === true,
        lose: async () => {
          const { Keys: pins } = (await (await rpc('pin/ls?type=recursive')).json()) as { Keys: object }
          for (const cid of Object.keys(pins)) expect((await rpc(`pin/rm?arg=${cid}`)).status).toBe(200)
          expect(Object.keys(pins)).not.toEqual([])
        },
        refused: /^UNAVAILABLE: the Kubo of the cluster: /,
      })
    }),
  )
})

describe('the peers that another node knows', () => {
  const answers = (status: number, body: string) => ({
    send: async () => ({ status, headers: {}, body: [Buffer.from(body)] as never }),
  })

  test('are unknown from a node of an older version', async () => {
    for (const sender of [answers(404, '{"error":{}}'), answers(200, 'text'), answers(200, '"text"')]) {
      expect(await peersOnNode(sender, new ManualClock(), AT_A)).toBeNull()
    }
    const peers = [{ peer: 'p1', state: 'pinned', error: null }]
    expect(await peersOnNode(answers(200, JSON.stringify({ peers })), new ManualClock(), AT_A)).toEqual(peers)
  })

  test('are unknown after five seconds without answer', async () => {
    const clock = new ManualClock()
    const asked = peersOnNode({ send: () => new Promise(() => undefined) }, clock, AT_A)
    await turns(1)
    clock.advance(5_000)
    expect(await asked).toBeNull()
    expect(clock.waiting).toBe(0)
  })
})
