import { rm } from 'node:fs/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/domain/clock.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type FleetNode, fleetNode, openFleet } from '../../support/fleet.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'

/** Another node reacts after a moment, or much later on a busy machine. */
const PATIENCE = { timeout: 60_000, interval: 200 }
/** More than one block. */
const LARGE = 1_500_000
const cluster = { label: '', region: '', country: null, gateways: [] }

interface Three {
  a: FleetNode
  b: FleetNode
  c: FleetNode
  database: string
  upload(node: FleetNode, cluster: string, name: string, bytes?: number): Promise<{ cid: string; uploadId: string }>
  remove(cid: string, by?: FleetNode): Promise<unknown>
  /** Starts the nodes again, each cluster on the given node. */
  restart(clusters: Readonly<Record<string, string>>, nodes?: readonly FleetNode[]): Promise<void>
  /** Status of each record. */
  states(by?: FleetNode): Promise<Record<string, string>>
  /** Starts a node on the directory of a forgotten one, as a new node. */
  returned(id: string, dataDir: string): Promise<FleetNode>
}

const ALL = { first: 'a', second: 'b', third: 'c', old: 'a' }

describe('records of a cluster that no configuration has', { timeout: 180_000, ...needsPostgres }, () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.stop())

  async function withThree(run: (three: Three) => Promise<void>): Promise<void> {
    const database = await server.fresh()
    // All nodes read this array at each start.
    const clusters: Array<typeof cluster & { id: string; node: string }> = []
    const configure = (nodes: Readonly<Record<string, string>>) =>
      clusters.splice(0, clusters.length, ...Object.entries(nodes).map(([id, node]) => ({ ...cluster, id, node })))
    configure(ALL)
    const config = { database, clock: systemClock, clusters, defaultCluster: 'second', gc: { graceSeconds: 0 } }
    const { a, b, nodes, close } = await openFleet(config, 3)
    const [, , c] = nodes as [FleetNode, FleetNode, FleetNode]
    const { id: account } = await a.engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
    const opened: FleetNode[] = []
    try {
      await run({
        ...{ a, b, c, database },
        upload: async (node, id, name, bytes = 900) => {
          const { record } = await node.engine.pins.upload([pseudoRandom(bytes, name)], { account, name, cluster: id })
          return record
        },
        remove: (cid, by = b) => by.engine.pins.remove(cid, { account }),
        restart: async (to, started = nodes) => {
          for (const node of started) await node.stop()
          configure(to)
          for (const node of started) await node.start()
        },
        states: async (by = b) => {
          const { items } = await by.engine.pins.list({ account, limit: 100 })
          return Object.fromEntries(items.map(({ uploadId, status }) => [uploadId, status]))
        },
        returned: async (id, dataDir) => {
          const node = await fleetNode(id, dataDir, { ...config, asNew: true })
          opened.push(node)
          return node
        },
      })
    } finally {
      for (const node of opened) await node.close()
      await close()
    }
  }

  const read = async ({ url }: FleetNode, { cid }: { cid: string }): Promise<[number, number]> => {
    const answer = await fetch(`${url}/ipfs/${cid}`)
    return [answer.status, answer.status === 200 ? (await answer.arrayBuffer()).byteLength : 0]
  }
  const whyNot = (node: FleetNode): Promise<string> =>
    node.engine.reconcile().then(
      () => 'it ran',
      ({ message }: Error) => message,
    )
  const findings = async (node: FleetNode) => (await node.engine.reconcile({ dryRun: true })).findings
  const roots = async (node: FleetNode): Promise<number> => (await node.engine.stats()).roots.complete.count
  const stateOf = async (node: FleetNode, id: string) =>
    (await node.engine.nodes.list()).findLast(one => one.id === id)?.state

  test('stay on their node after a set-back, and go with their removal', async () => {
    await withThree(async ({ a, b, c, database, upload, remove, restart, states }) => {
      const kept = await upload(a, 'old', 'kept', LARGE)
      const removed = await upload(a, 'old', 'removed', LARGE)
      // Another node has the same content.
      const both = await upload(a, 'old', 'both', LARGE)
      await upload(c, 'third', 'both', LARGE)
      const { old: _, ...left } = ALL
      await restart(left)
      const setBack = await server.snapshot()
      await upload(b, 'second', 'newer')
      for (const node of [a, b, c]) await node.stop()
      await setBack()
      for (const node of [a, b, c]) await node.start()
      for (const node of [a, b, c]) await expect.poll(() => whyNot(node), PATIENCE).toMatch(/repeat with force/)
      for (const node of [a, b, c]) {
        for (const one of [kept, removed, both]) expect(await read(node, one)).toEqual([200, LARGE])
        await node.engine.reconcile({ force: true })
      }
      await remove(removed.cid)
      for (const node of [a, b, c]) await expect.poll(() => read(node, removed), PATIENCE).toEqual([404, 0])
      expect(Object.values(await states())).toEqual(['pinned', 'pinned', 'pinned'])
      await expect.poll(async () => [await roots(a), await roots(b), await roots(c)], PATIENCE).toEqual([2, 0, 1])

      await restart({ ...left, first: 'b' })
      await b.engine.nodes.retire('a', { to: 'b' })
      await expect.poll(() => stateOf(b, 'a'), PATIENCE).toBe('retired')
      await a.stop()
      for (const node of [b, c]) for (const one of [kept, both]) expect(await read(node, one)).toEqual([200, LARGE])
      expect(await read(b, removed)).toEqual([404, 0])
      for (const node of [b, c]) await expect.poll(() => findings(node), PATIENCE).toEqual([])
      for (const one of [kept, both]) await remove(one.cid)
      await expect.poll(() => leftIn(database), PATIENCE).toEqual({ offers: 0, holds: 0, roots: 0, pins: 0, bytes: 0 })
    })
  })

  test('keep content that only another node still has', async () => {
    await withThree(async ({ a, b, c, upload, remove, restart, states }) => {
      const { cid, uploadId } = await upload(a, 'old', 'on a lost node', LARGE)
      await restart({ first: 'b', second: 'b', third: 'c' })
      const setBack = await server.snapshot()
      await remove(cid)
      await upload(c, 'third', 'on a lost node', LARGE)
      for (const node of [a, b, c]) await node.stop()
      await rm(a.dataDir, { recursive: true })
      await setBack()
      for (const node of [b, c]) await node.start()
      await expect.poll(() => whyNot(c), PATIENCE).toMatch(/a may have content/)
      const waits = async (id: string) => (await b.engine.nodes.list()).find(one => one.id === id)?.waits
      await expect.poll(() => waits('c'), PATIENCE).toEqual(['1 record waits until a has the content'])
      expect(await waits('a')).toEqual([expect.stringMatching(/^it has not offered its content yet/)])
      await b.engine.nodes.forget('a')
      for (const node of [b, c]) {
        const ran = () => node.engine.reconcile({ force: true }).then(() => 'it ran', String)
        await expect.poll(ran, PATIENCE).toBe('it ran')
      }
      await expect.poll(() => states(), PATIENCE).toEqual({ [uploadId]: 'pinned' })
      for (const node of [b, c]) await node.engine.collect({ graceSeconds: 0 })
      for (const node of [b, c]) await expect.poll(() => read(node, { cid }), PATIENCE).toEqual([200, LARGE])
      for (const node of [b, c]) await expect.poll(() => findings(node), PATIENCE).toEqual([])
    })
  })

  test('get content back from a forgotten node that returns, which can retire', async () => {
    await withThree(async ({ a, b, c, database, upload, remove, restart, states, returned }) => {
      const lost = await upload(c, 'third', 'one', LARGE)
      const gone = await upload(c, 'third', 'removed meanwhile', LARGE)
      await c.stop()
      await restart({ first: 'a', second: 'b' }, [a, b])
      await b.engine.nodes.forget('c')
      await expect.poll(() => stateOf(b, 'c'), PATIENCE).toBe('forgotten')
      expect(Object.values(await states())).toEqual(['failed', 'failed'])
      await remove(gone.cid)
      const d = await returned('d', c.dataDir)
      await expect.poll(() => states(), PATIENCE).toEqual({ [lost.uploadId]: 'pinned' })
      expect((await a.engine.nodes.lost({ after: null, limit: 9 })).rows).toEqual([])
      // Other nodes know the new one after two seconds.
      for (const node of [a, b, d]) await expect.poll(() => read(node, lost), PATIENCE).toEqual([200, LARGE])
      for (const node of [a, b, d]) expect((await read(node, gone))[0]).toBe(404)
      await b.engine.nodes.retire('d', { to: 'b' })
      // The directory keeps what no record needs until its operator has answered.
      await expect.poll(() => d.engine.reconcile({ force: true }).then(() => 'it ran', String), PATIENCE).toBe('it ran')
      await expect.poll(() => stateOf(b, 'd'), PATIENCE).toBe('retired')
      await d.stop()
      for (const node of [a, b]) expect(await read(node, lost)).toEqual([200, LARGE])
      await remove(lost.cid)
      await expect.poll(() => leftIn(database), PATIENCE).toEqual({ offers: 0, holds: 0, roots: 0, pins: 0, bytes: 0 })
    })
  })

  async function leftIn(url: string): Promise<object> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const counts = ['offers', 'holds', 'roots'].map(table => `(SELECT COUNT(*)::int FROM ${table}) AS ${table}`)
    const { rows } = await client.query(
      `SELECT ${counts.join(', ')}, SUM(pins)::int AS pins, SUM(stored_bytes)::int AS bytes FROM accounts`,
    )
    await client.end()
    return rows[0]
  }
})
