/**
 * Real nodes whose database is set back. Nodes offer records of a removed cluster, and are killed at each step of taking
 * one. Connections between nodes are refused for a time. Then one node retires, and a forgotten one returns. As a
 * program: `node test/torture/fleet/offers.ts <number of offers>`.
 */

import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Fault, openProxy } from '../../support/database-proxy.ts'
import { fixedPort } from '../../support/fixed-port.ts'
import { KEY, NodeProcess, openNodeProcesses } from '../../support/fleet-processes.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { runHoldfast } from '../../support/server-process.ts'
import { EMPTY, storeSizes } from '../../support/store-inspection.ts'
import { until, untilNone } from '../clusters/until.ts'
import { Link } from './link.ts'
import {
  type Clusters,
  checkSound,
  clustersOf,
  homes,
  killed,
  offers,
  query,
  readAll,
  reconcile,
  removeAll,
  restart,
  type Stored,
  statuses,
  uploadAll,
  type World,
  waitsOf,
} from './offer-world.ts'

/** Longer than the nodes need to notice each other, and than a busy machine needs. */
const PATIENCE_MS = 300_000

/** Commits at which the taking node is killed: before the database has them, and before the node has the answer. */
const COMMITS = ['INSERT INTO holds (id, node, root_id', 'UPDATE records SET hold_id', 'DELETE FROM offers']
const KILLS: ReadonlyArray<Pick<Fault, 'at' | 'when'>> = COMMITS.flatMap(commitOf =>
  (['before', 'after'] as const).map(when => ({ at: { commitOf }, when })),
)

const HOMES: Clusters = { first: 'a', second: 'b', third: 'c' }

/** @throws AssertionError for the first broken promise */
export async function tortureOffers(count: number, progress: (text: string) => void = () => {}): Promise<void> {
  const server = await startPostgres()
  try {
    const database = await server.fresh()
    const shared = {
      clusters: clustersOf({ ...HOMES, old: 'a' }),
      gc: { graceSeconds: 0 },
      bulk: { undoSeconds: 0 },
      network: { enabled: false },
    }
    const { a, b, nodes, close } = await openNodeProcesses(database, shared, 3)
    const [, , c] = nodes as [NodeProcess, NodeProcess, NodeProcess]
    const link = await Link.open(Number(new URL(c.url).port))
    const proxy = await openProxy(database)
    try {
      Object.assign(a.config, { database: proxy.url })
      Object.assign(c.config, { node: { id: 'c', url: link.url } })
      const world = { a, b, c, nodes, database, proxy, link, count, progress }
      const left = await takeOffers(world, () => server.snapshot())
      await retire(world, left)
      await returnAsNew(world, left)
    } finally {
      await close()
      await proxy.stop()
      await link.refuse().catch(() => undefined)
    }
  } finally {
    await server.stop()
  }
}

/** Returns the content that is left. */
async function takeOffers(world: World, snapshot: () => Promise<() => Promise<void>>): Promise<Stored[]> {
  const { a, b, c, nodes, proxy, link, count, progress } = world
  const moved = await uploadAll(a, 'old', { label: 'moved', count })
  const sound = await uploadAll(a, 'old', { label: 'sound', count: Math.ceil(count / 10) })
  const far = await uploadAll(c, 'third', { label: 'far', count: Math.ceil(count / 100) })
  progress(`${moved.length + sound.length} records of a cluster that the configuration loses`)
  await restart(nodes, HOMES, async () => undefined)
  const setBack = await snapshot()
  await removeAll(b, 'moved', count)
  await until('the content is gone from its node', async () => {
    await a.call('POST', '/admin/v1/gc', { graceSeconds: 0 })
    return (await storeSizes(a.dataDir)).roots === sound.length
  })
  await uploadAll(c, 'third', { label: 'moved', count })
  await link.refuse()
  await restart(nodes, HOMES, setBack)

  // A kill of each node in its walk, while the two cannot reach each other.
  await until('a node has begun to offer', async () => (await offers(world)) > 0)
  for (const node of [c, a]) await killed(node)
  await until('all content is offered', async () => (await offers(world)) === count)
  const waits = `${count} record${count === 1 ? ' waits' : 's wait'} until a has the content`
  await until('the list of nodes tells for what they wait', async () => (await waitsOf(b, 'c')).includes(waits))
  progress(`${count} offers, which no node can take`)

  for (const fault of KILLS) {
    const struck = proxy.inject({ ...fault, what: 'stop' })
    await link.accept()
    await struck
    await a.kill()
    proxy.recover()
    await link.refuse()
    await a.start()
    const { commitOf } = fault.at as { commitOf: string }
    progress(`killed ${fault.when} the commit of ${commitOf}: ${await offers(world)} offers are left`)
    assert.notEqual(await offers(world), 0, 'no offers are left for further kills: begin with more')
  }
  for (const node of [a, c]) {
    const copying = link.hold()
    await link.accept()
    await copying
    await node.kill()
    await link.refuse()
    await node.start()
    progress(`killed ${node.id} while content was copied: ${await offers(world)} offers are left`)
  }
  await link.accept()
  await untilNone('all offers have ended', () => offers(world), PATIENCE_MS)
  progress('no offers are left')
  return checkSetBack(world, { moved, sound, far })
}

async function checkSetBack(
  world: World,
  { moved, sound, far }: Record<'moved' | 'sound' | 'far', Stored[]>,
): Promise<Stored[]> {
  const { a, b, nodes, count, progress } = world
  for (const node of nodes) await reconcile(node)
  assert.deepEqual(await statuses(world), { pinned: moved.length + sound.length + far.length })
  assert.deepEqual(await homes(world, 'old'), { a: moved.length + sound.length })
  await readAll(nodes, [...moved, ...sound, ...far], 200)
  await removeAll(b, 'moved', count)
  await readAll(nodes, moved, 404)
  await until('deleted content is gone from all nodes', async () => {
    for (const node of nodes) await node.call('POST', '/admin/v1/gc', { graceSeconds: 0 })
    const found = await Promise.all(nodes.map(async node => (await storeSizes(node.dataDir)).roots))
    return isDeepStrictEqual(found, [sound.length, 0, far.length])
  })
  for (const node of nodes) await checkSound(node)
  assert.equal((await storeSizes(a.dataDir)).tempFiles, 0)
  progress('set back: all records have their content, and deleted content is gone')
  return [...sound, ...far]
}

/** The taking node is killed while it copies, then the node that retires. */
async function retire(world: World, left: readonly Stored[]): Promise<void> {
  const { a, b, c, nodes, progress } = world
  await restart(nodes, { ...HOMES, first: 'b' }, async () => undefined)
  const owner = ['--api', `${c.url}/api/v3`, '--key', KEY]
  await until('the retirement begins', async () => {
    return (await runHoldfast(['node', 'retire', 'a', '--to', 'b', '--no-wait', ...owner])).code === 0
  })
  for (const node of [b, a]) await killed(node)
  // The content may have moved before a kill.
  await until('the node has retired', async () => (await stateOf(world, 'a')) === 'retired')
  progress('retired')
  await until('the retired node is empty', async () => {
    await a.call('POST', '/admin/v1/gc', { graceSeconds: 0 })
    return isDeepStrictEqual(await storeSizes(a.dataDir), EMPTY)
  })
  await a.kill()
  await readAll([b, c], left, 200)
  for (const node of [b, c]) await checkSound(node)
}

async function stateOf(world: World, id: string): Promise<string | undefined> {
  return (await query<{ state: string }>(world, `SELECT state FROM nodes WHERE id = '${id}'`))[0]?.state
}

/** Forgets `c`, whose directory then joins as `d`, which is killed while it offers. */
async function returnAsNew(world: World, left: readonly Stored[]): Promise<void> {
  const { b, c, count, progress } = world
  await c.kill()
  await restart([b], { first: 'b', second: 'b' }, async () => undefined)
  await until('the node is forgotten', async () => {
    await b.call('POST', '/admin/v1/nodes/c/forget', {})
    return (await stateOf(world, 'c')) === 'forgotten'
  })
  const far = left.filter(({ name }) => name.startsWith('far'))
  assert.deepEqual(await statuses(world), { failed: far.length, pinned: left.length - far.length })
  const directory = dirname(c.dataDir)
  const d = new NodeProcess('d', directory, await fixedPort(1), { ...b.config })
  await rename(c.dataDir, join(directory, 'd'))
  d.flags = ['--as-new']
  await d.start()
  await killed(d)
  await until('the content has returned', async () => isDeepStrictEqual(await statuses(world), { pinned: left.length }))
  assert.deepEqual(await homes(world, 'third'), { d: far.length })
  await readAll([b, d], left, 200)
  for (const node of [b, d]) await reconcile(node)
  await removeAll(b, 'sound', Math.ceil(count / 10))
  await removeAll(b, 'far', far.length)
  for (const node of [b, d]) {
    await until(`${node.id} is empty`, async () => {
      await node.call('POST', '/admin/v1/gc', { graceSeconds: 0 })
      return isDeepStrictEqual(await storeSizes(node.dataDir), EMPTY)
    })
  }
  const tables = ['offers', 'holds', 'roots', 'records', 'removed_records', 'fetches']
  for (const table of tables) assert.deepEqual(await query(world, `SELECT * FROM ${table} LIMIT 1`), [], table)
  const usage = await query(world, 'SELECT id FROM accounts WHERE pins <> 0 OR stored_bytes <> 0 OR kept_bytes <> 0')
  assert.deepEqual(usage, [])
  progress('returned as a new node: all content is back, and nothing is left after its removal')
}

if (import.meta.main) {
  const began = performance.now()
  const [count = '10000'] = process.argv.slice(2)
  const seconds = (): string => `${Math.round((performance.now() - began) / 1_000)} s`
  await tortureOffers(Number(count), text => console.log(`${seconds()}: ${text}`))
  console.log(`${seconds()}: nothing lost, nothing left`)
}
