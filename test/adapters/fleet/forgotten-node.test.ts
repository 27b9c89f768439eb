import { copyFile, cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { postgres } from '../../../adapters/postgres/index.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { createEngine, SCOPES } from '../../../src/index.ts'
import { settled } from '../../../src/testing/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type FleetNode, fleetNode } from '../../support/fleet.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
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
  UNION ALL SELECT 'fetch ' || f.id FROM fetches f JOIN nodes n ON n.name = f.node WHERE n.state = 'forgotten'
  UNION ALL SELECT 'offer of ' || o.node FROM offers o JOIN nodes n ON n.name = o.node WHERE n.state = 'forgotten'`

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
  /** Starts a node on the directory of a forgotten one, as a new node. */
  returned(id: string, dataDir: string, third: string): Promise<FleetNode>
}

describe('a node that is lost with its disk', { timeout: 180_000, ...needsPostgres }, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  async function withThree(run: (three: Three) => Promise<void>): Promise<void> {
    const database = await server.migrated()
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
          returned: async (id, dataDir, third) => {
            const config = { database, clock: systemClock, ...clustersOn(third), asNew: true }
            const node = await fleetNode(id, dataDir, config)
            opened.push(node)
            return node
          },
        })
        await expect.poll(() => sql.reading.all(LEFT_OVER), PATIENCE).toEqual([])
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
      await settled([three.a.engine, three.b.engine])
      expect(await membership(three.a, 2)).toBe('forgotten')
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
      await settled([three.a.engine, three.b.engine, three.c.engine])
      expect(await membership(three.a, 2)).toBe('forgotten')
      expect((await states())[onB.uploadId]?.[0]).toBe('pinned')
      const nodes = await three.a.engine.nodes.list()
      expect(nodes.map(({ id, number, state, records }) => [id, number, state, records])).toEqual([
        ['a', 0, 'active', 0],
        ['b', 1, 'active', 1],
        ['c', 2, 'forgotten', 0],
        ['c', 3, 'active', expect.any(Number)],
      ])
    })
  })

  const readFrom = async ({ url }: FleetNode, { cid }: { cid: string }): Promise<number> => {
    const answer = await fetch(`${url}/ipfs/${cid}`)
    await answer.arrayBuffer()
    return answer.status
  }

  test('joins as a new node if it returns, and returns its content', async () => {
    await withThree(async three => {
      const { upload, states, account } = three
      const uploads = [await upload('one', 'third'), await upload('two', 'third')]
      const removed = await upload('removed meanwhile', 'third')
      const { dataDir } = three.c
      await three.c.stop()
      await three.restartOn('a')
      await three.a.engine.nodes.forget('c')
      await settled([three.a.engine, three.b.engine])
      expect(await membership(three.a, 2)).toBe('forgotten')
      for (const { uploadId } of uploads) expect((await states())[uploadId]?.[0]).toBe('failed')
      await three.a.engine.pins.remove(removed.cid, { account, cluster: 'third' })

      const d = await three.returned('d', dataDir, 'a')
      expect(await readFrom(d, removed)).not.toBe(200)
      await expect
        .poll(async () => Object.values(await states()).map(([status]) => status), PATIENCE)
        .toEqual(['pinned', 'pinned'])
      for (const node of [three.a, three.b, d]) {
        for (const one of uploads) await expect.poll(() => readFrom(node, one), PATIENCE).toBe(200)
      }
      expect(await readFrom(d, removed)).not.toBe(200)
      expect((await three.a.engine.nodes.lost({ after: null, limit: 9 })).rows).toEqual([])
      expect((await three.a.engine.nodes.list()).map(({ id, number, state }) => [id, number, state])).toEqual([
        ['a', 0, 'active'],
        ['b', 1, 'active'],
        ['c', 2, 'forgotten'],
        ['d', 3, 'active'],
      ])

      // Nothing in the directory goes before its operator has answered.
      const roots = async (): Promise<number> => (await d.engine.stats()).roots.complete.count
      await d.stop()
      await d.start()
      await d.engine.collect({ graceSeconds: 0 })
      expect(await roots()).toBe(3)
      const why = () => d.engine.reconcile().then(String, ({ message }: Error) => message)
      await expect.poll(why, PATIENCE).toMatch(/has returned as a new node.*repeat with force/)
      expect(await roots()).toBe(3)
      await d.engine.reconcile({ force: true })
      await d.engine.collect({ graceSeconds: 0 })
      expect(await roots()).toBe(0)
      for (const one of uploads) expect(await readFrom(d, one)).toBe(200)
      for (const node of [three.a, three.b, d]) expect((await node.engine.reconcile()).findings).toEqual([])
    })
  })

  test('keeps its records if it returns before they are taken over', async () => {
    await withThree(async three => {
      const { upload, states } = three
      const { cid, uploadId } = await upload('alone', 'third')
      const { dataDir } = three.c
      await three.c.stop()
      await three.a.engine.nodes.forget('c', { isReplaced: true })
      const c = await three.returned('c', dataDir, 'c')
      await settled([three.a.engine, three.b.engine, c.engine])
      expect(await membership(three.a, 2)).toBe('forgotten')
      expect(await states()).toEqual({ [uploadId]: ['pinned', null] })
      await expect.poll(() => readFrom(three.a, { cid }), PATIENCE).toBe(200)
      await c.stop()
      await c.start()
      await c.engine.reconcile({ force: true })
      await c.engine.collect({ graceSeconds: 0 })
      expect(await readFrom(three.a, { cid })).toBe(200)
    })
  })

  test('a directory that was not forgotten cannot join as a new node', async () => {
    await withThree(async three => {
      const { cid } = await three.upload('alone', 'third')
      const { dataDir } = three.c
      const asNew = (id: string, path: string) => three.returned(id, path, 'c')
      await three.c.stop()
      await expect(asNew('c', dataDir)).rejects.toThrow('node.asNew: this data directory is not of a node')
      await cp(dataDir, `${dataDir} copy`, { recursive: true })
      await mkdir(`${dataDir} empty`, { mode: 0o700 })
      await copyFile(join(dataDir, 'data.key'), join(`${dataDir} empty`, 'data.key'))
      await expect(asNew('d', `${dataDir} empty`)).rejects.toThrow('node.asNew: this data directory has not joined')
      await three.c.start()
      await expect(asNew('d', `${dataDir} copy`)).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' })
      expect(await readFrom(three.c, { cid })).toBe(200)
      expect((await three.c.engine.reconcile()).findings).toEqual([])
    })
  })
})
