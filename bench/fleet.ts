import { randomBytes } from 'node:crypto'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { fixedPort } from '../test/support/fixed-port.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import type { Bench, Cost, Measurement, RunOptions, Scale } from './bench.ts'
import { ChildServer } from './child-server.ts'
import { type Clients, clientsFor } from './clients/clients.ts'
import { builtServer } from './services/built-server.ts'
import { cidOf } from './services/holdfast.ts'
import { type Call, call } from './services/service.ts'
import { endedChildrenSeconds, UsageWatch } from './usage.ts'

const CONNECTIONS = 16
const PAGE = 20
const FILE_BYTES = 4 * 1024
const SECONDS: Readonly<Record<Scale, number>> = { full: 3, quick: 2, tiny: 1 }
const COUNT: Readonly<Record<Scale, number>> = { full: 4_000, quick: 2_000, tiny: 20 }
const RECORDS: Readonly<Record<Scale, number>> = { full: 1_000_000, quick: 100_000, tiny: 200 }
const FIRST = 100

const cluster = { label: '', region: '', country: null, gateways: [] }

/** A running node, and a CID that it has. */
interface Node {
  server: ChildServer
  headers: Readonly<Record<string, string>>
  cid: string
}

interface Subject {
  name: string
  nodes: Node[]
  /** The process of the database, whose costs count; null for SQLite. */
  database: number[] | null
}

/** @param database null for a catalogue in SQLite */
async function startNodes(dir: string, database: string | null, ids: readonly string[]): Promise<Node[]> {
  const key = randomBytes(32).toString('hex')
  const nodes: Node[] = []
  for (const id of ids) {
    const port = await fixedPort(1)
    const dataDir = join(dir, id)
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    const [first] = ids
    if (first !== undefined && id !== first) await copyFile(join(dir, first, 'data.key'), join(dataDir, 'data.key'))
    const clusters = ids.map(node => ({ ...cluster, id: `of-${node}`, ...(ids.length === 1 ? {} : { node }) }))
    const own = { node: { id, url: `http://127.0.0.1:${port}` } }
    const shared = database === null ? {} : { database, ...(ids.length === 1 ? {} : own) }
    const config = join(dir, `${id}.json`)
    await writeFile(
      config,
      JSON.stringify({ network: { enabled: false }, clusters, defaultCluster: 'of-a', ...shared }),
    )
    const env = { PATH: process.env.PATH, HOLDFAST_BOOTSTRAP_KEY: key, HOLDFAST_LOG_LEVEL: 'error' }
    const args = ['serve', '--port', String(port), '--data-dir', dataDir, '--config', config]
    const server = await ChildServer.start(await builtServer(), args, env)
    nodes.push({ server, headers: { authorization: `Bearer ${key}`, 'x-cluster': `of-${id}` }, cid: '' })
  }
  return nodes
}

function uploadOf({ server, headers }: Node): Call {
  return { method: 'POST', url: `${server.url}/api/v3/files`, headers }
}

function listOf({ server, headers }: Node): Call {
  return { method: 'GET', url: `${server.url}/api/v3/users/me/uploads?limit=${PAGE}`, headers }
}

function lookUpOf({ server, headers, cid }: Node): Call {
  return { method: 'GET', url: `${server.url}/api/v3/status/${cid}`, headers }
}

/** Loads all nodes at once, each with its share of the connections. Returns their total rate, and its cost. */
async function load(
  clients: Clients,
  { nodes, database }: Subject,
  scale: Scale,
  callOf: (node: Node) => Call,
  formBytes?: number,
): Promise<{ rate: number; cost: Cost | null }> {
  const watch = UsageWatch.start([...nodes.map(({ server }) => server.pid), ...(database ?? [])])
  const clientBefore = endedChildrenSeconds()
  const started = performance.now()
  const loads = await Promise.all(
    nodes.map(node =>
      clients.hammer({
        calls: [callOf(node)],
        connections: CONNECTIONS / nodes.length,
        seconds: SECONDS[scale],
        count: COUNT[scale],
        ...(formBytes === undefined ? {} : { formBytes }),
      }),
    ),
  )
  const clientShare = ((endedChildrenSeconds() - clientBefore) * 1_000) / (performance.now() - started)
  const amount = loads.reduce((sum, { done }) => sum + done, 0)
  const rate = loads.reduce((sum, { done, seconds }) => sum + done / seconds, 0)
  return { rate, cost: watch && { ...watch.usage(), amount, clientShare } }
}

async function prepare({ nodes }: Subject): Promise<void> {
  for (const node of nodes) {
    for (let i = 0; i < FIRST / nodes.length; i++) {
      const form = new FormData()
      form.append('file', new Blob([randomBytes(FILE_BYTES)]), 'file')
      const response = await fetch(uploadOf(node).url, { method: 'POST', headers: node.headers, body: form })
      if (response.status !== 201) throw new Error(`an upload was answered ${response.status}`)
      node.cid = cidOf(await response.json())
    }
  }
}

/** Inserts records for the owner directly into the database, because uploads would take too long. */
async function fill(database: string, records: number): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    await client.query('ALTER TABLE records DISABLE TRIGGER USER')
    await client.query(
      `INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, root_id, type, status, status_at, name,
         size, dag_size, charge, created_at, identity, folded_name, words)
       SELECT 'made' || n, a.id, r.cluster_id, r.cid, r.codec, '\\x1220'::bytea || sha256(n::text::bytea), 1000000000 + n,
         'file', 'pinned', n, 'file ' || n, 1000, 1000, 1000, n, sha256(('i' || n)::bytea), 'file ' || n,
         ARRAY[a.seq || 'nfile', a.seq || 'n' || n]
       FROM generate_series(1, $1::integer) n, accounts a, (SELECT * FROM records ORDER BY seq LIMIT 1) r
       WHERE a.role = 'owner'`,
      [records],
    )
    await client.query('ALTER TABLE records ENABLE TRIGGER USER')
    await client.query(`UPDATE accounts SET pins = pins + $1 WHERE role = 'owner'`, [records])
    await client.query('ANALYZE')
  } finally {
    await client.end()
  }
}

async function run({ dir, scale, rounds, subjects: wanted, progress, signal }: RunOptions): Promise<Measurement[]> {
  const clients = clientsFor(scale)
  const postgres = await startPostgres({ syncs: true })
  const running: Subject[] = []
  const measured = new Map<string, Measurement>()
  const note = (subject: string, metric: string, { rate, cost }: Awaited<ReturnType<typeof load>>): void => {
    const key = `${subject} ${metric}`
    const known = measured.get(key) ?? { subject, metric, unit: '/s', better: 'higher', values: [], costs: [] }
    known.values.push(rate)
    if (cost !== null) known.costs?.push(cost)
    measured.set(key, known)
  }
  const databases = new Map<string, string>()
  try {
    for (const [name, ids] of [
      ['sqlite', ['a']],
      ['postgres-1', ['a']],
      ['postgres-2', ['a', 'b']],
    ] as const) {
      if (wanted !== undefined && !wanted.includes(name)) continue
      const database = name === 'sqlite' ? null : await postgres.fresh()
      if (database !== null) databases.set(name, database)
      progress(`starting ${name}`)
      const process = database === null ? null : [postgres.pid].filter(pid => pid !== undefined)
      const subject = { name, nodes: await startNodes(join(dir, name), database, ids), database: process }
      running.push(subject)
      await prepare(subject)
    }
    for (let round = 0; round < rounds; round++) {
      for (const subject of running) {
        signal.throwIfAborted()
        progress(`round ${round + 1}: ${subject.name}`)
        note(subject.name, 'uploads', await load(clients, subject, scale, uploadOf, FILE_BYTES))
        note(subject.name, 'lists', await load(clients, subject, scale, listOf))
        note(subject.name, 'look-ups', await load(clients, subject, scale, lookUpOf))
      }
    }
    for (const subject of running) {
      const database = databases.get(subject.name)
      if (database === undefined) continue
      progress(`${subject.name} with ${RECORDS[scale].toLocaleString('en')} records more`)
      await fill(database, RECORDS[scale])
      for (const node of subject.nodes) await call(listOf(node))
      for (let round = 0; round < rounds; round++) {
        note(subject.name, 'lists-of-many', await load(clients, subject, scale, listOf))
      }
    }
    return [...measured.values()]
  } finally {
    for (const { nodes } of running) for (const { server } of nodes) await server.stop()
    await postgres.stop()
  }
}

export const fleet: Bench = {
  name: 'fleet',
  minutes: 6,
  describe: scale =>
    `uploads of ${FILE_BYTES / 1024} KiB, pages of ${PAGE} and look-ups over ${CONNECTIONS} connections, on one node with SQLite, ` +
    `and on one and two with PostgreSQL. Pages with ${RECORDS[scale].toLocaleString('en')} more records`,
  targets: [],
  run,
}
