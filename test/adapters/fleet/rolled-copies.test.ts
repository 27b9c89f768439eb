import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pseudoRandom } from '../../support/bytes.ts'
import { FleetLoad, restartInTurn } from '../../support/fleet-load.ts'
import { type NodeProcess, openNodeProcesses } from '../../support/fleet-processes.ts'
import { type FleetProxy, hasProxy, type ProxyName, startFleetProxy } from '../../support/fleet-proxy.ts'
import { needs } from '../../support/needs.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { openRelay } from '../../support/stopping-relay.ts'

const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''
const options = isHeavy ? needsPostgres : needs(false, 'rolls of copies run with HOLDFAST_TEST_HEAVY=1 only')
const DRAIN_SECONDS = Number(process.env.DRAIN ?? 20)
/** Times of downloads that end before a node does, and of longer ones. */
const SHORTER = Math.floor(DRAIN_SECONDS / 2)
const LONGER = DRAIN_SECONDS * 2
const LONGEST_MS = 4 * (LONGER + 120) * 1_000
/** A machine that does nothing else answers within this time, though a node is cut off. */
const FIRST_BYTE_MS = Number(process.env.FIRST_BYTE_MS ?? 2_000)
const CLUSTER = { label: '', region: '', country: null, gateways: [], id: 'main', nodes: ['a', 'b', 'c'], copies: 2 }
const PATIENCE = { timeout: 120_000 }

describe('three nodes with two copies', { timeout: LONGEST_MS, ...options }, () => {
  let postgres: TestPostgres
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres?.stop())

  const withNodes = async (run: (nodes: NodeProcess[]) => Promise<void>) => {
    const config = { trustedProxies: 1, clusters: [CLUSTER], defaultCluster: 'main' }
    const { nodes, close } = await openNodeProcesses(await postgres.fresh(), config, 3)
    try {
      await run(nodes)
    } finally {
      await close()
    }
  }
  /** Resolves when all nodes have the copies that they should have. */
  const copied = async ([node]: readonly NodeProcess[]): Promise<void> => {
    const waiting = async () => {
      const answer = await node?.call<{ nodes: Array<{ waits: string[] }> }>('GET', '/admin/v1/nodes')
      return answer?.json.nodes.flatMap(({ waits }) => waits)
    }
    await expect.poll(waiting, PATIENCE).toEqual([])
  }
  const rolled = async (load: FleetLoad, nodes: readonly NodeProcess[]) => {
    await load.startReading()
    await copied(nodes)
    load.start()
    await restartInTurn(load, nodes)
    return load.end()
  }

  for (const name of ['caddy', 'haproxy'] satisfies ProxyName[]) {
    test(`restart one by one, and fail no read: ${name}`, needs(hasProxy(name), `there is no ${name}`), async () => {
      await withNodes(async nodes => {
        for (const node of nodes) {
          await node.kill()
          node.drainSeconds = DRAIN_SECONDS
          await node.start()
        }
        const proxy: FleetProxy = await startFleetProxy(name, nodes)
        try {
          const load = new FleetLoad(nodes[0] as NodeProcess, proxy, ['main'], [SHORTER, LONGER])
          const answers = await rolled(load, nodes)
          console.log(name, 'rolled copies', JSON.stringify(answers), proxy.errors().slice(0, 20))
          const statuses = (kind: string) => Object.keys(answers[kind]?.counts ?? {})
          expect([statuses('read'), statuses('list'), statuses(`download of ${SHORTER} s`)]).toEqual([
            ['200'],
            ['200'],
            ['200'],
          ])
          expect([...statuses('upload'), ...statuses('large upload')].filter(one => one.startsWith('503'))).toEqual([])
        } finally {
          await proxy.stop()
        }
      })
    })
  }

  test('answer at once while the packets of one are dropped', async () => {
    await withNodes(async nodes => {
      const [a, ...others] = nodes as [NodeProcess, NodeProcess, NodeProcess]
      const relay = await openRelay(a.url)
      try {
        await a.kill()
        Object.assign(a.config.node ?? {}, { url: relay.url })
        await a.start()
        const cids: string[] = []
        for (const bytes of [900, 3_500_000, 20_000_000]) {
          const form = new FormData()
          form.set('file', new Blob([Buffer.from(pseudoRandom(bytes, 'cut off'))]), 'f')
          cids.push((await a.call<{ cid: string }>('POST', '/api/v3/files', form)).json.cid)
        }
        await copied(nodes)
        const longest = async (): Promise<number> => {
          const waits: number[] = []
          for (const { gateway } of others) {
            for (const cid of cids) {
              const began = performance.now()
              const answer = await fetch(`${gateway}/ipfs/${cid}`)
              const reader = answer.body?.getReader()
              const first = await reader?.read()
              waits.push(performance.now() - began)
              expect([answer.status, (first?.value?.length ?? 0) > 0]).toEqual([200, true])
              while ((await reader?.read())?.done === false);
            }
          }
          return Math.max(...waits)
        }
        relay.isStopped = true
        const [cut, again] = [await longest(), await longest()]
        console.log('cut off', { cut, again })
        expect(Math.max(cut, again)).toBeLessThan(FIRST_BYTE_MS)
      } finally {
        relay.stop()
      }
    })
  })
})
