import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/domain/clock.ts'
import { silentLogger } from '../../../src/domain/logger.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type Fleet, type FleetNode, openFleet, TWO_CLUSTERS, withFleet } from '../../support/fleet.ts'
import { openNodeProcesses } from '../../support/fleet-processes.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { filesIn } from '../../support/temp-dir.ts'

/** Another node reacts after a moment, or much later on a busy machine. */
const PATIENCE = { timeout: 60_000 }
/** More than one block. */
const LARGE = 1_500_000

describe('a node that retires', { timeout: 120_000, ...needsPostgres }, () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.stop())

  const upload = async ({ account }: Fleet, node: FleetNode, cluster: string, name: string, bytes = 900) => {
    const given = { account, name, cluster }
    return (await node.engine.pins.upload([pseudoRandom(bytes, name)], given)).record
  }
  const readAt = async (url: string, cid: string): Promise<[number, number]> => {
    const answer = await fetch(`${url}/ipfs/${cid}`)
    return [answer.status, (await answer.arrayBuffer()).byteLength]
  }
  const read = (node: FleetNode, cid: string) => readAt(node.url, cid)
  const query = async (url: string, text: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query(text)
    await client.end()
    return rows
  }
  /** Runs with two nodes, and clusters that the test may move. */
  const withMovable = (
    url: string,
    run: (fleet: Fleet, moveSecond: () => Promise<void>) => Promise<void>,
    config: Parameters<typeof withFleet>[2] = {},
  ) => {
    const clusters = TWO_CLUSTERS.clusters.map(cluster => ({ ...cluster }))
    return withFleet(
      url,
      fleet =>
        run(fleet, async () => {
          for (const cluster of clusters) cluster.node = 'a'
          for (const node of [fleet.a, fleet.b]) {
            await node.stop()
            await node.start()
          }
        }),
      { ...config, clusters },
    )
  }
  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      ({ code, message }) => `${code}: ${message}`,
    )
  const states = async ({ a }: Fleet) => (await a.engine.nodes.list()).map(({ id, state }) => [id, state])

  test('gives all content to another node, while every record stays pinned', async () => {
    const database = await server.fresh()
    await withMovable(database, async (fleet, moveSecond) => {
      const { a, b, account } = fleet
      const sizes = new Map<string, number>()
      for (let i = 0; i < 30; i++) {
        const bytes = i % 10 === 0 ? LARGE : 900
        sizes.set((await upload(fleet, b, 'second', `content ${i}`, bytes)).cid, bytes)
      }
      await upload(fleet, a, 'first', 'content 1')
      expect(await codeOf(a.engine.nodes.retire('b', { to: 'a' }))).toMatch(/CONFLICT: a was started with second on b/)
      await moveSecond()
      // Content of a cluster that has moved stays readable on its former node.
      for (const [cid, bytes] of sizes) expect(await read(a, cid)).toEqual([200, bytes])
      expect(await codeOf(a.engine.nodes.retire('b', { to: 'c' }))).toMatch('NOT_FOUND')
      expect(await codeOf(a.engine.nodes.retire('b', { to: 'b' }))).toMatch('VALIDATION')
      await a.engine.nodes.retire('b', { to: 'a' })
      sizes.set((await upload(fleet, a, 'second', 'while it retires')).cid, 900)
      const usage = await query(database, 'SELECT pins, stored_bytes FROM accounts')
      await fleet.settled()
      expect(await states(fleet)).toEqual([
        ['a', 'active'],
        ['b', 'retired'],
      ])
      expect((await b.engine.stats()).roots.complete.count).toBe(0)
      expect(await query(database, 'SELECT pins, stored_bytes FROM accounts')).toEqual(usage)
      await b.engine.collect({ graceSeconds: 0 })
      await b.stop()
      const { items } = await a.engine.pins.list({ account, limit: 100 })
      expect([items.length, ...new Set(items.map(({ status }) => status))]).toEqual([32, 'pinned'])
      for (const [cid, bytes] of sizes) expect(await read(a, cid)).toEqual([200, bytes])
      expect((await a.engine.reconcile()).findings).toEqual([])
      await expect(b.start()).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(/retired/),
      })
      for (const cid of sizes.keys()) await a.engine.pins.remove(cid, { account })
      expect(
        await query(
          database,
          'SELECT (SELECT COUNT(*)::int FROM roots) AS roots, (SELECT COUNT(*)::int FROM holds) AS holds',
        ),
      ).toEqual([{ roots: 0, holds: 0 }])
    })
  })

  test('leaves as many copies as its clusters want on the other nodes', async () => {
    const cluster = {
      id: 'main',
      label: '',
      region: '',
      country: null,
      gateways: [],
      nodes: ['b', 'a', 'c'],
      copies: 2,
    }
    const config = { database: await server.fresh(), clusters: [cluster], defaultCluster: 'main', clock: systemClock }
    const { a, b, nodes, close } = await openFleet(config, 3)
    try {
      const { id: account } = await a.engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
      const cids: string[] = []
      for (let i = 0; i < 12; i++) {
        const content = [pseudoRandom(i % 6 === 0 ? LARGE : 900, `content ${i}`)]
        cids.push((await b.engine.pins.upload(content, { account, name: `${i}` })).record.cid)
      }
      expect(await codeOf(a.engine.nodes.retire('b', { to: 'a' }))).toMatch(/CONFLICT: a was started with main on b/)
      cluster.nodes = ['a', 'c']
      for (const node of nodes) {
        await node.stop()
        await node.start()
      }
      await a.engine.nodes.retire('b', { to: 'a' })
      const listed = async () => (await a.engine.nodes.list()).map(({ id, state }) => [id, state])
      await expect.poll(listed, PATIENCE).toContainEqual(['b', 'retired'])
      await b.stop()
      const others = nodes.filter(node => node !== b)
      for (const node of others) {
        for (const other of others) if (other !== node) await other.stop()
        for (const cid of cids) expect((await read(node, cid))[0]).toBe(200)
        for (const other of others) if (other !== node) await other.start()
      }
      const { items } = await a.engine.pins.list({ account, limit: 100 })
      expect(items.map(({ status }) => status)).toEqual(cids.map(() => 'pinned'))
    } finally {
      await close()
    }
  })

  test('logs content that it lacks once, and keeps its record', async () => {
    const warnings: string[] = []
    const logger = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) }
    await withMovable(
      await server.fresh(),
      async (fleet, moveSecond) => {
        const { a, b, account } = fleet
        const { cid } = await upload(fleet, b, 'second', 'lost', LARGE)
        for (let i = 0; i < 60; i++) await upload(fleet, b, 'second', `content ${i}`)
        await moveSecond()
        const blocks = join(b.dataDir, 'blocks')
        for (const file of await filesIn(blocks)) await rm(join(blocks, file))
        await a.engine.nodes.retire('b', { to: 'a' })
        const uncopied = () => warnings.filter(message => message.includes('copied'))
        await expect.poll(uncopied, PATIENCE).toEqual(['content could not be copied yet'])
        expect(await states(fleet)).toContainEqual(['b', 'retiring'])
        const { items } = await a.engine.pins.list({ account, cid })
        expect(items).toMatchObject([{ status: 'pinned' }])
        const usage = () => query(fleet.database, 'SELECT pins, stored_bytes FROM accounts ORDER BY 1')
        const before = await usage()
        await upload(fleet, a, 'second', 'lost', LARGE)
        await fleet.settled()
        expect(await states(fleet)).toContainEqual(['b', 'retired'])
        expect([await read(a, cid), await usage()]).toEqual([[200, LARGE], before])
        expect(uncopied()).toHaveLength(1)
      },
      { logger },
    )
  })

  test('continues after kills of both nodes and cut connections', { timeout: 500_000 }, async () => {
    const database = await server.fresh()
    const { a, b, close } = await openNodeProcesses(database)
    const send = async (name: string): Promise<string> => {
      const form = new FormData()
      form.set('file', new Blob([pseudoRandom(70_000, name)]), name)
      const { status, json } = await b.call<{ cid: string }>('POST', '/api/v3/files', form, { 'x-cluster': 'second' })
      expect(status).toBe(201)
      return json.cid
    }
    const memberships = async (): Promise<string[]> => {
      const { json } = await a.call<{ nodes?: Array<{ membership: string }> }>('GET', '/admin/v1/nodes')
      // A call just after its connection was cut may be answered with 503.
      return json.nodes?.map(({ membership }) => membership) ?? memberships()
    }
    try {
      const cids: string[] = []
      for (let i = 0; i < 300; i += 10) {
        cids.push(...(await Promise.all(Array.from({ length: 10 }, (_, j) => send(`content ${i + j}`)))))
      }
      // Both have the configuration in one array.
      for (const cluster of a.config.clusters ?? []) Object.assign(cluster, { node: 'a' })
      for (const node of [a, b]) {
        await node.kill()
        await node.start()
      }
      expect((await a.call('POST', '/admin/v1/nodes/b/retire', { to: 'a' })).status).toBe(202)
      const seen: string[][] = []
      for (const node of [b, a, a]) {
        await query(
          database,
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast'",
        )
        await sleep(100)
        seen.push(await memberships())
        await node.kill()
        await node.start()
      }
      // All content may have moved before a later kill.
      expect(seen[0]).toEqual(['active', 'retiring'])
      // On a busy machine, each restart takes long, and the pauses between attempts grow meanwhile.
      await expect.poll(memberships, { timeout: 300_000 }).toEqual(['active', 'retired'])
      await b.call('POST', '/admin/v1/gc', { graceSeconds: 0 })
      await b.kill()
      for (const cid of cids) expect([cid, ...(await readAt(a.gateway, cid))]).toEqual([cid, 200, 70_000])
      const { json } = await a.call<{ found: object }>('POST', '/admin/v1/reconcile', { dryRun: true })
      // A reconciliation may still find holds that a killed node had not used.
      expect(Object.keys(json.found).filter(kind => kind.startsWith('record'))).toEqual([])
    } finally {
      await close()
    }
  })
})
