import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type NodeProcess, openNodeProcesses } from '../../support/fleet-processes.ts'
import { needs } from '../../support/needs.ts'
import { hasSource, OLD_SOURCES, unpackSource, wayBack } from '../../support/old-source.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

const SOURCE = OLD_SOURCES['0.3.0']
const isThere = needs(hasSource(SOURCE), 'the history does not reach back to 0.3.0')
const PATIENCE = { timeout: 90_000 }
const CLUSTER = { label: '', region: '', country: null, gateways: [] }
/** The clusters of a configuration for 0.3.0. */
const SINGLE = [
  { ...CLUSTER, id: 'first', node: 'a' },
  { ...CLUSTER, id: 'second', node: 'b' },
]
const THIRD = { ...CLUSTER, id: 'third', node: 'c' }
const copied = (copies: number) => [
  { ...CLUSTER, id: 'first', nodes: ['a', 'b'], copies },
  { ...CLUSTER, id: 'second', nodes: ['b', 'a'], copies },
]

describe('copies beside nodes of 0.3.0', { timeout: 600_000, ...isThere, ...needsPostgres }, () => {
  let server: SharedPostgres
  let directory: string
  let old: string
  beforeAll(async () => {
    server = await sharedPostgres()
    directory = await mkdtemp(join(tmpdir(), 'holdfast-mixed-'))
    unpackSource(SOURCE, join(directory, 'source'))
    old = join(directory, 'source', 'adapters', 'cli', 'main.ts')
  })
  afterAll(async () => {
    await server?.stop()
    await rm(directory, { recursive: true })
  })

  interface Mixed {
    a: NodeProcess
    b: NodeProcess
    /** The same as `b` without a third node. */
    c: NodeProcess
    /** Restarts a node with a version and clusters. */
    restart: (node: NodeProcess, main: string | undefined, clusters: object[]) => Promise<void>
    query: (text: string) => Promise<unknown[]>
  }
  /** Runs with nodes of 0.3.0. */
  const withOld = async (run: (fleet: Mixed) => Promise<void>, count: 2 | 3 = 2) => {
    const database = await server.fresh()
    const clusters = count === 3 ? [...SINGLE, THIRD] : SINGLE
    const { a, b, nodes, close } = await openNodeProcesses(database, { clusters }, count, old)
    const client = new pg.Client({ connectionString: database })
    try {
      await client.connect()
      const restart: Mixed['restart'] = async (node, main, clusters) => {
        await node.kill()
        if (main !== undefined && node.main === undefined) goBack(node)
        node.main = main
        Object.assign(node.config, { clusters })
        await node.start()
      }
      const query = async (text: string) => (await client.query({ text, rowMode: 'array' })).rows.flat()
      await run({ a, b, c: nodes.at(-1) ?? b, restart, query })
    } finally {
      await client.end()
      await close()
    }
  }
  /** Leads the data directory of a stopped node back to 0.3.0, as the guide says. */
  const goBack = ({ dataDir }: NodeProcess) =>
    execFileSync('/bin/sh', ['-ec', wayBack('0.3.0')], { cwd: dataDir, stdio: 'ignore' })
  const upload = async (node: NodeProcess, cluster: string, name: string): Promise<string> => {
    const form = new FormData()
    form.set('file', new Blob([name.padEnd(100_000, '.')]), name)
    const { status, json } = await node.call<{ cid: string }>('POST', '/api/v3/files', form, { 'x-cluster': cluster })
    expect(status).toBe(201)
    return json.cid
  }
  const remove = async (node: NodeProcess, cid: string) =>
    expect((await node.call('DELETE', `/api/v3/files/remove/${cid}`)).status).toBe(200)
  const read = async ({ gateway }: NodeProcess, cid: string): Promise<number> => {
    const answer = await fetch(`${gateway}/ipfs/${cid}`)
    await answer.arrayBuffer()
    return answer.status
  }
  const readable = async (node: NodeProcess, ...cids: string[]) => {
    for (const cid of cids) await expect.poll(() => read(node, cid), PATIENCE).toBe(200)
  }
  /** Compares all stores of a node, and deletes what nothing needs. */
  const tidy = async (node: NodeProcess, status = 200) => {
    expect((await node.call('POST', '/admin/v1/reconcile', {})).status).toBe(status)
    expect((await node.call('POST', '/admin/v1/gc', { graceSeconds: 0 })).status).toBe(200)
  }
  const COPIES = "SELECT state || ' ' || COUNT(*) FROM copies GROUP BY state ORDER BY state"
  /** Holds that no record and no copy needs. */
  const LEFT = `SELECT id FROM holds WHERE NOT EXISTS (SELECT 1 FROM records WHERE hold_id = holds.id)
    AND NOT EXISTS (SELECT 1 FROM copies WHERE hold_id = holds.id)`

  test('no copy is wanted before that version has gone', async () => {
    await withOld(async ({ a, b, restart, query }) => {
      const former = await upload(b, 'second', 'former')
      await restart(a, undefined, copied(2))
      const kept = [await upload(a, 'first', 'kept'), await upload(a, 'second', 'forwarded')]
      const gone = await upload(a, 'first', 'gone')
      await remove(b, gone)
      await remove(a, await upload(b, 'second', 'gone by the new node'))
      await readable(a, former, ...kept)
      await readable(b, former, ...kept)
      expect(await query('SELECT cluster_id FROM copy_sets')).toEqual([])
      expect(await query(COPIES)).toEqual([])
      await restart(b, undefined, copied(2))
      await expect.poll(() => query(COPIES), PATIENCE).toEqual(['have 3'])
      await a.kill()
      await readable(b, former, ...kept)
    })
  })

  test('that version ends copies by deletes, and frees no last one', async () => {
    await withOld(async ({ a, b, restart, query }) => {
      for (const node of [a, b]) await restart(node, undefined, copied(2))
      const cids = [await upload(a, 'first', 'one'), await upload(b, 'second', 'two')]
      const gone = [await upload(a, 'first', 'gone'), await upload(b, 'second', 'gone, too')]
      await expect.poll(() => query(COPIES), PATIENCE).toEqual(['have 4'])
      // The directory lacks all that came since the upgrade, also the content of its own records.
      await restart(b, old, SINGLE)
      for (const cid of gone) await remove(b, cid)
      // The node that is left wants fewer copies, but the other one has not agreed.
      await restart(a, undefined, copied(1))
      // The node asks before it calls so many records lost.
      await tidy(b, 409)
      await tidy(a)
      await readable(a, ...cids)
      expect(await query('SELECT copies FROM copy_sets')).toEqual([2, 2])
      await restart(b, undefined, copied(1))
      await expect.poll(() => query('SELECT copies FROM copy_sets'), PATIENCE).toEqual([])
      // A comparison finds what the directory lacks, and the node takes it back from the copy.
      expect((await b.call('POST', '/admin/v1/reconcile', { force: true })).status).toBe(200)
      expect(await query('SELECT DISTINCT status FROM records')).toEqual(['pinned'])
      await expect.poll(() => query(COPIES), { timeout: 2 * PATIENCE.timeout }).toEqual([])
      for (const node of [a, b]) await tidy(node)
      await expect.poll(() => query(LEFT), PATIENCE).toEqual([])
      await readable(a, ...cids)
    })
  })

  test('that version takes the records of a lost node with their content', async () => {
    await withOld(async ({ a, b, c, restart, query }) => {
      for (const node of [a, b, c]) await restart(node, undefined, [...copied(2), THIRD])
      const cids = [await upload(a, 'first', 'one'), await upload(b, 'second', 'two')]
      await expect.poll(() => query(COPIES), PATIENCE).toEqual(['have 2'])
      const others = [...SINGLE.filter(({ node }) => node === 'b'), THIRD]
      await restart(c, old, [...others, { ...CLUSTER, id: 'first', node: 'c' }])
      await a.kill()
      await restart(b, undefined, [...others, { ...CLUSTER, id: 'first', node: 'c' }])
      const forget = () => b.call('POST', '/admin/v1/nodes/a/forget', {})
      await expect.poll(async () => (await forget()).status, PATIENCE).toBeLessThan(300)
      const forgotten = "SELECT id FROM nodes WHERE state = 'forgotten'"
      await expect.poll(() => query(forgotten), PATIENCE).toEqual(['a'])
      await expect.poll(() => query('SELECT DISTINCT status FROM records'), PATIENCE).toEqual(['pinned'])
      for (const node of [b, c]) await tidy(node)
      for (const node of [b, c]) await readable(node, ...cids)
      await restart(c, undefined, [...others, { ...CLUSTER, id: 'first', node: 'c' }])
      await expect.poll(() => query(COPIES), PATIENCE).toEqual([])
      for (const node of [b, c]) await tidy(node)
      await expect.poll(() => query(LEFT), PATIENCE).toEqual([])
      for (const node of [b, c]) await readable(node, ...cids)
    }, 3)
  })

  test.each(['to', 'from'])('content of a node that retires moves %s that version', async way => {
    await withOld(async ({ a, b, restart, query }) => {
      const cids = [
        await upload(a, 'first', 'one'),
        await upload(b, 'second', 'two'),
        await upload(a, 'second', 'three'),
      ]
      const moved = SINGLE.map(cluster => ({ ...cluster, node: 'a' }))
      await restart(a, way === 'to' ? old : undefined, moved)
      await restart(b, way === 'to' ? undefined : old, moved)
      const retire = async () => (await a.call('POST', '/admin/v1/nodes/b/retire', { to: 'a' })).status
      await expect.poll(retire, PATIENCE).toBeLessThan(300)
      await expect.poll(() => query("SELECT id FROM nodes WHERE state = 'retired'"), PATIENCE).toEqual(['b'])
      await b.kill()
      expect(await query('SELECT DISTINCT status FROM records')).toEqual(['pinned'])
      await readable(a, ...cids)
      await tidy(a)
      await expect.poll(() => query(LEFT), PATIENCE).toEqual([])
      expect(await query(COPIES)).toEqual([])
    })
  })
})
