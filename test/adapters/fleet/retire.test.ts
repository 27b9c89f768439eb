import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pseudoRandom } from '../../support/bytes.ts'
import { type Fleet, type FleetNode, TWO_CLUSTERS, withFleet } from '../../support/fleet.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'

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
  const read = async (node: FleetNode, cid: string): Promise<[number, number]> => {
    const answer = await fetch(`${node.url}/ipfs/${cid}`)
    return [answer.status, (await answer.arrayBuffer()).byteLength]
  }
  const query = async (url: string, text: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query(text)
    await client.end()
    return rows
  }
  /** Runs with two nodes, and clusters that the test may move. */
  const withMovable = (url: string, run: (fleet: Fleet, moveSecond: () => Promise<void>) => Promise<void>) => {
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
      { clusters },
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
      await expect
        .poll(() => states(fleet), PATIENCE)
        .toEqual([
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
})
