import { copyFile, cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgres } from '../../../adapters/postgres/index.ts'
import { Postgres } from '../../../adapters/postgres/postgres.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { createEngine, SCOPES } from '../../../src/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type FleetNode, fleetNode } from '../../support/fleet.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const PATIENCE = { timeout: 60_000, interval: 200 }
const cluster = { label: '', region: '', country: null, gateways: [] }
const clustersOn = (third: string) => ({
  clusters: [
    { ...cluster, id: 'first', node: 'a' },
    { ...cluster, id: 'second', node: 'b' },
    { ...cluster, id: 'third', node: third },
  ],
  defaultCluster: 'first',
})

/** Rows of forgotten nodes, and holds that nobody uses. */
const LEFT_OVER = `
  SELECT 'hold ' || h.id AS what FROM holds h JOIN nodes n ON n.name = h.node
    WHERE n.state = 'forgotten' OR h.state IN ('placing', 'void')
  UNION ALL SELECT 'root ' || r.id FROM roots r JOIN nodes n ON n.number = r.backend_id / 65536 WHERE n.state = 'forgotten'
  UNION ALL SELECT 'fetch ' || f.id FROM fetches f JOIN nodes n ON n.name = f.node WHERE n.state = 'forgotten'`

interface Three {
  a: FleetNode
  b: FleetNode
  c: FleetNode
  database: string
  account: string
  upload(name: string, cluster: string): Promise<{ cid: string; uploadId: string }>
  /** Status and reason of each record by its id. */
  states(): Promise<Record<string, [status: string, reason: string | null]>>
  /** Stops the nodes and starts `a` and `b`, with the cluster of `c` on another node. */
  restartOn(third: string): Promise<void>
}

describe('a node that is lost with its disk', { timeout: 180_000, ...needsPostgres }, () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.stop())

  async function withThree(run: (three: Three) => Promise<void>): Promise<void> {
    const database = await server.fresh()
    const opened: FleetNode[] = []
    await withTempDir(async directory => {
      const open = async (id: string, third: string): Promise<FleetNode> => {
        const dataDir = join(directory, id)
        if (id !== 'a') {
          await mkdir(dataDir, { recursive: true, mode: 0o700 })
          await copyFile(join(directory, 'a', 'data.key'), join(dataDir, 'data.key'))
        }
        const node = await fleetNode(id, dataDir, { database, clock: systemClock, ...clustersOn(third) })
        opened.push(node)
        return node
      }
      const three = { a: await open('a', 'c'), b: await open('b', 'c'), c: await open('c', 'c') }
      const sql = await Postgres.open({ url: database })
      const { id: account } = await three.a.engine.accounts.create({ email: 'one@example.org', plan: 'unlimited' })
      await three.a.engine.keys.create(account, { name: 'all', scopes: SCOPES })
      const nodeOf = (id: string): FleetNode => ({ first: three.a, second: three.b })[id] ?? three.c
      try {
        await run({
          ...three,
          database,
          account,
          get a() {
            return three.a
          },
          get b() {
            return three.b
          },
          upload: async (name, id) => {
            const options = { account, cluster: id, name: `${id} ${name}` }
            const { record } = await nodeOf(id).engine.pins.upload(pseudoRandom(3_000, name), options)
            return record
          },
          states: async () => {
            const rows = await sql.reading.all<{ id: string; status: string; reason: string | null }>(
              'SELECT id, status, status_reason AS reason FROM records',
            )
            return Object.fromEntries(rows.map(({ id, status, reason }) => [id, [status, reason]]))
          },
          restartOn: async third => {
            for (const node of opened.splice(0)) await node.close()
            three.a = await open('a', third)
            three.b = await open('b', third)
          },
        })
        expect(await sql.reading.all(LEFT_OVER)).toEqual([])
      } finally {
        for (const node of opened) await node.close()
        await sql.close()
      }
    })
  }

  const membership = async (node: FleetNode, number: number): Promise<string | undefined> =>
    (await node.engine.nodes.list()).find(one => one.number === number)?.state

  test('gives its records to the node of their cluster', async () => {
    await withThree(async three => {
      const { upload, states, account } = three
      const alone = await upload('alone', 'third')
      const onB = await upload('on b', 'third')
      await upload('on b', 'second')
      const onA = await upload('on a', 'third')
      await upload('on a', 'first')
      await expect(three.a.engine.nodes.forget('c')).rejects.toMatchObject({ code: 'CONFLICT' })
      await expect(three.a.engine.nodes.forget('x')).rejects.toMatchObject({ code: 'NOT_FOUND' })
      const { dataDir } = three.c
      await three.c.stop()
      await cp(dataDir, `${dataDir} copy`, { recursive: true })
      await rm(dataDir, { recursive: true })
      await expect(three.a.engine.nodes.forget('c')).rejects.toThrow('with the cluster third on the node c')
      await three.restartOn('a')
      await three.b.engine.nodes.forget('c')
      await expect.poll(() => membership(three.a, 2), PATIENCE).toBe('forgotten')
      await expect.poll(async () => (await states())[onB.uploadId]?.[0], PATIENCE).toBe('pinned')
      expect(await states()).toMatchObject({
        [alone.uploadId]: ['failed', 'lost with node c'],
        [onB.uploadId]: ['pinned', null],
        [onA.uploadId]: ['pinned', null],
      })
      const read = async ({ cid }: { cid: string }) => {
        const { stream } = await three.a.engine.content.read({ cid, account })
        let length = 0
        for await (const piece of stream) length += piece.length
        return length
      }
      expect([await read(onB), await read(onA)]).toEqual([3_000, 3_000])
      const { rows } = await three.a.engine.nodes.lost({ after: null, limit: 10 })
      expect(rows.map(({ uploadId, node }) => [uploadId, node])).toEqual([[alone.uploadId, 'c']])
      expect(await three.a.engine.pins.usage(account)).toMatchObject({ pins: 5 })
      const { findings } = await three.a.engine.reconcile({ dryRun: true })
      expect(findings).toEqual([])
      const nodes = await three.a.engine.nodes.list()
      expect(nodes.find(({ number }) => number === 2)).toMatchObject({ id: 'c', records: 0, bytes: 0, total: 3 })
      const node = { id: 'c', url: 'http://127.0.0.1:1' }
      const options = { ...clustersOn('a'), database: three.database, catalogue: postgres, node }
      await expect(createEngine({ ...options, dataDir: `${dataDir} copy` })).rejects.toThrow('was given up')
    })
  })

  test('waits for a new directory that replaces it', async () => {
    await withThree(async three => {
      const { upload, states } = three
      const onB = await upload('on b', 'third')
      await upload('on b', 'second')
      const { dataDir } = three.c
      await three.c.stop()
      await rm(dataDir, { recursive: true })
      await mkdir(dataDir, { mode: 0o700 })
      await copyFile(join(three.a.dataDir, 'data.key'), join(dataDir, 'data.key'))
      await expect(three.c.start()).rejects.toThrow('run "holdfast node forget c" on another node')
      await three.a.engine.nodes.forget('c', { isReplaced: true })
      expect(await membership(three.a, 2)).toBe('forgetting')
      await three.c.start()
      await expect.poll(() => membership(three.a, 2), PATIENCE).toBe('forgotten')
      await expect.poll(async () => (await states())[onB.uploadId]?.[0], PATIENCE).toBe('pinned')
      const nodes = await three.a.engine.nodes.list()
      expect(nodes.map(({ id, number, state, records }) => [id, number, state, records])).toEqual([
        ['a', 0, 'active', 0],
        ['b', 1, 'active', 1],
        ['c', 2, 'forgotten', 0],
        ['c', 3, 'active', expect.any(Number)],
      ])
    })
  })
})
