import assert from 'node:assert/strict'
import pg from 'pg'
import { pseudoRandom } from '../../support/bytes.ts'
import type { DatabaseProxy } from '../../support/database-proxy.ts'
import type { NodeProcess } from '../../support/fleet-processes.ts'
import { until } from '../clusters/until.ts'
import type { Link } from './link.ts'

/** More than one block. */
const LARGE = 1_500_000
const SMALL = 300
/** One record of so many has large content. */
const EVERY = 200
/** Requests at once. */
const AT_ONCE = 32
/** Files that are read back through each node. */
const READ = 60

const cluster = { label: '', region: '', country: null, gateways: [] }
/** The node of each cluster. */
export type Clusters = Readonly<Record<string, string>>

export interface Stored {
  cid: string
  name: string
  bytes: number
}

export interface World {
  a: NodeProcess
  b: NodeProcess
  c: NodeProcess
  nodes: readonly NodeProcess[]
  database: string
  /** Connections of `a` to the database. */
  proxy: DatabaseProxy
  /** Connections of the other nodes to `c`. */
  link: Link
  count: number
  progress: (text: string) => void
}

export function clustersOf(homes: Clusters) {
  return Object.entries(homes).map(([id, node]) => ({ ...cluster, id, node }))
}

/** Stops the nodes, and starts them with other clusters. */
export async function restart(
  nodes: readonly NodeProcess[],
  homes: Clusters,
  meanwhile: () => Promise<void>,
): Promise<void> {
  for (const node of nodes) await node.server.stop()
  await meanwhile()
  for (const node of nodes) {
    Object.assign(node.config, { clusters: clustersOf(homes) })
    await node.start()
  }
}

export async function killed(node: NodeProcess): Promise<void> {
  await node.kill()
  await node.start()
}

export async function query<Row extends object>({ database }: World, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

export async function offers(world: World): Promise<number> {
  return (await query<{ count: number }>(world, 'SELECT COUNT(*)::int AS count FROM offers'))[0]?.count ?? 0
}

export async function statuses(world: World): Promise<object> {
  const rows = await query<{ status: string; count: number }>(
    world,
    'SELECT status, COUNT(*)::int AS count FROM records GROUP BY 1 ORDER BY 1',
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

/** Returns the number of records of a cluster by the node of their holds. */
export async function homes(world: World, clusterId: string): Promise<object> {
  const rows = await query<{ id: string; count: number }>(
    world,
    `SELECT nodes.id, COUNT(*)::int AS count FROM records JOIN holds ON holds.id = hold_id AND holds.state = 'used'
     JOIN nodes ON nodes.name = holds.node WHERE cluster_id = '${clusterId}' GROUP BY 1`,
  )
  return Object.fromEntries(rows.map(({ id, count }) => [id, count]))
}

export async function waitsOf(node: NodeProcess, id: string): Promise<string[]> {
  const { json } = await node.call<{ nodes: Array<{ id: string; waits: string[] }> }>('GET', '/admin/v1/nodes')
  return json.nodes.findLast(one => one.id === id)?.waits ?? []
}

/** Runs a function for each value, many at once. */
async function forAll<T>(values: readonly T[], run: (value: T) => Promise<void>): Promise<void> {
  const left = values.values()
  const worker = async (): Promise<void> => {
    for (const value of left) await run(value)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

export async function uploadAll(
  node: NodeProcess,
  clusterId: string,
  { label, count }: { label: string; count: number },
): Promise<Stored[]> {
  const stored: Stored[] = []
  await forAll([...Array(count).keys()], async i => {
    const name = `${label} ${i}`
    const bytes = i % EVERY === 0 ? LARGE : SMALL
    const form = new FormData()
    form.set('file', new Blob([pseudoRandom(bytes, name)]), name)
    const { status, json } = await node.call<{ cid: string }>('POST', '/api/v3/files', form, { 'x-cluster': clusterId })
    assert.equal(status, 201, `upload of ${name}`)
    stored.push({ cid: json.cid, name, bytes })
  })
  return stored
}

/** Removes the records with a prefix of their names by a job. */
export async function removeAll(node: NodeProcess, label: string, count: number): Promise<void> {
  const createdBefore = new Date(Date.now() + 60_000).toISOString()
  const filter = { createdBefore, expected: count, name: `${label} `, match: 'partial' }
  const { status, json } = await node.call<{ job: { id: string } }>('POST', '/api/v3/jobs', {
    action: 'delete',
    filter,
  })
  assert.equal(status, 202, JSON.stringify(json))
  await until(`all of "${label}" is removed`, async () => {
    const shown = await node.call<{ job: { state: string; done: number } }>('GET', `/api/v3/jobs/${json.job.id}`)
    return shown.json.job.state === 'done' && shown.json.job.done === count
  })
}

/** Reads some contents through each node, all large ones included. */
export async function readAll(
  nodes: readonly NodeProcess[],
  stored: readonly Stored[],
  expected: number,
): Promise<void> {
  const some = stored.filter(({ bytes }, i) => bytes === LARGE || i % Math.ceil(stored.length / READ) === 0)
  for (const node of nodes) {
    await forAll(some, async ({ cid, name, bytes }) => {
      await until(`${node.id} answers ${expected} for ${name}`, async () => {
        const answer = await fetch(`${node.gateway}/ipfs/${cid}`)
        const body = Buffer.from(await answer.arrayBuffer())
        if (answer.status === 200) assert.ok(body.equals(pseudoRandom(bytes, name)), `${name} has other bytes`)
        return answer.status === expected
      })
    })
  }
}

/** Releases what a database that was set back does not name. */
export async function reconcile(node: NodeProcess): Promise<void> {
  await until(`${node.id} may release content`, async () => {
    return (await node.call('POST', '/admin/v1/reconcile', { force: true })).status === 200
  })
}

export async function checkSound(node: NodeProcess): Promise<void> {
  const { json } = await node.call<{ found: object }>('POST', '/admin/v1/reconcile', { dryRun: true })
  assert.deepEqual(json.found, {}, `${node.id}: records and holds do not agree`)
  const verified = await node.call<{ damaged: unknown[] }>('POST', '/admin/v1/verify')
  assert.deepEqual([verified.status, verified.json.damaged], [200, []], `${node.id}: blocks are damaged`)
}
