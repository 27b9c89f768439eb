import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench, Cost, Measurement, RunOptions, Scale } from './bench.ts'
import { ChildServer } from './child-server.ts'
import { type Clients, clientsFor } from './clients/clients.ts'
import { BenchDatabase } from './services/bench-database.ts'
import { listOf, lookUpOf, type Node, prepareNode, startNodes, uploadOf } from './services/fleet-nodes.ts'
import { type Call, call } from './services/service.ts'
import { endedChildrenSeconds, UsageWatch } from './usage.ts'

const CONNECTIONS = 16
/** Accounts besides the owner. The nodes divide them. */
const ACCOUNTS = 8
const FILE_BYTES = 4 * 1024
const FILES = 100
const SECONDS: Readonly<Record<Scale, number>> = { full: 3, quick: 2, tiny: 1 }
const COUNT: Readonly<Record<Scale, number>> = { full: 4_000, quick: 2_000, tiny: 20 }
const RECORDS: Readonly<Record<Scale, number>> = { full: 1_000_000, quick: 100_000, tiny: 200 }
const FLOOR = fileURLToPath(new URL('group-commit-server.ts', import.meta.url))

interface Subject {
  name: string
  nodes: Node[]
  /** URL of its database; null for SQLite. */
  url: string | null
  /** Processes of the database, whose costs count. */
  database: readonly number[]
}

interface Loaded {
  /** Successful requests of all nodes, and their number a second. */
  amount: number
  rate: number
  cost: Cost | null
  /** Processor time for each request, in ms, of the nodes and of the database. */
  cpu: { nodes: number; database: number } | null
}

/** Makes the loads of a subject, each over all connections. */
class Loads {
  readonly #clients: Clients
  readonly #scale: Scale

  constructor(scale: Scale) {
    this.#clients = clientsFor(scale)
    this.#scale = scale
  }

  /** Uploads of the owner, through all nodes. */
  uploads(subject: Subject): Promise<Loaded> {
    return this.#load(
      subject,
      subject.nodes.map(node => uploadOf(node, node.headers)),
      FILE_BYTES,
    )
  }

  /** Uploads of several accounts, each through one node. */
  uploadsOfMany(subject: Subject): Promise<Loaded> {
    const calls = subject.nodes.flatMap(node => node.others.map(headers => uploadOf(node, headers)))
    return this.#load(subject, calls, FILE_BYTES)
  }

  lists(subject: Subject): Promise<Loaded> {
    return this.#load(subject, subject.nodes.map(listOf))
  }

  lookUps(subject: Subject): Promise<Loaded> {
    return this.#load(subject, subject.nodes.map(lookUpOf))
  }

  async #load({ nodes, database }: Subject, calls: readonly Call[], formBytes?: number): Promise<Loaded> {
    const pids = nodes.map(({ server }) => server.pid)
    const watch = UsageWatch.start([...pids, ...database])
    const ofNodes = UsageWatch.start(pids)
    const clientBefore = endedChildrenSeconds()
    const started = performance.now()
    const loads = await Promise.all(
      calls.map(one =>
        this.#clients.hammer({
          calls: [one],
          connections: CONNECTIONS / calls.length,
          seconds: SECONDS[this.#scale],
          count: COUNT[this.#scale],
          ...(formBytes === undefined ? {} : { formBytes }),
        }),
      ),
    )
    const clientShare = ((endedChildrenSeconds() - clientBefore) * 1_000) / (performance.now() - started)
    const amount = loads.reduce((sum, { done }) => sum + done, 0)
    const rate = loads.reduce((sum, { done, seconds }) => sum + done / seconds, 0)
    if (watch === null || ofNodes === null) return { amount, rate, cost: null, cpu: null }
    const usage = watch.usage()
    const own = ofNodes.usage().cpuSeconds
    const ms = (seconds: number) => (1_000 * seconds) / amount
    const cpu = { nodes: ms(own), database: ms(usage.cpuSeconds - own) }
    return { amount, rate, cost: { ...usage, amount, clientShare }, cpu }
  }
}

/** Values of each round, by subject and metric. */
class Values {
  readonly #measured = new Map<string, Measurement>()

  add(subject: string, metric: string, unit: string, value: number, cost: Cost | null = null): void {
    const key = `${subject} ${metric}`
    const better = unit === '/s' ? 'higher' : 'lower'
    const known = this.#measured.get(key) ?? { subject, metric, unit, better, values: [] }
    known.values.push(value)
    if (cost !== null) known.costs = [...(known.costs ?? []), cost]
    this.#measured.set(key, known)
  }

  /** @param hasParts true to add the processor time of nodes and database apart */
  addLoad(subject: string, metric: string, { rate, cost, cpu }: Loaded, hasParts = false): void {
    this.add(subject, metric, '/s', rate, cost)
    if (!hasParts || cpu === null) return
    this.add(subject, `${metric}-cpu-nodes`, 'ms', cpu.nodes)
    this.add(subject, `${metric}-cpu-database`, 'ms', cpu.database)
  }

  all(): Measurement[] {
    return [...this.#measured.values()]
  }
}

async function startSubject(dir: string, database: BenchDatabase, name: string, ids: readonly string[]) {
  const url = name === 'sqlite' ? null : await database.fresh()
  const subject = { name, nodes: [] as Node[], url, database: url === null ? [] : database.pids }
  if (ids.length === 0) {
    await mkdir(join(dir, name))
    const server = await ChildServer.start(FLOOR, [join(dir, name), url ?? ''], process.env)
    subject.nodes.push({ server, headers: {}, cid: '', others: [] })
    return subject
  }
  subject.nodes.push(...(await startNodes(join(dir, name), url, ids, { copies: name === 'copies-2' ? 2 : 1 })))
  const size = { files: FILES / ids.length, fileBytes: FILE_BYTES, accounts: ACCOUNTS / ids.length }
  for (const node of subject.nodes) await prepareNode(node, size)
  return subject
}

/** The nodes of each subject. The floor has none of ours. */
const SUBJECTS = [
  ['group-commit', []],
  ['sqlite', ['a']],
  ['postgres-1', ['a']],
  ['postgres-2', ['a', 'b']],
  ['copies-2', ['a', 'b']],
] as const

async function run({ dir, scale, rounds, subjects: wanted, progress, signal }: RunOptions): Promise<Measurement[]> {
  const loads = new Loads(scale)
  const values = new Values()
  const database = await BenchDatabase.start()
  const running: Subject[] = []
  const isFloor = ({ nodes }: Subject) => nodes.every(({ others }) => others.length === 0)
  try {
    for (const [name, ids] of SUBJECTS) {
      if (wanted !== undefined && !wanted.includes(name)) continue
      progress(`starting ${name}`)
      running.push(await startSubject(dir, database, name, ids))
    }
    for (let round = 0; round < rounds; round++) {
      for (const subject of running) {
        signal.throwIfAborted()
        progress(`round ${round + 1}: ${subject.name}`)
        values.addLoad(subject.name, 'uploads', await loads.uploads(subject), true)
        if (isFloor(subject)) continue
        values.addLoad(subject.name, 'uploads-of-many', await loads.uploadsOfMany(subject), true)
        values.addLoad(subject.name, 'lists', await loads.lists(subject))
        values.addLoad(subject.name, 'look-ups', await loads.lookUps(subject))
      }
    }
    for (const subject of running) {
      if (subject.url === null) continue
      const { result, work } = await database.counted(() => loads.uploads(subject), scale !== 'tiny')
      values.add(subject.name, 'uploads-statements', 'each', work.statements / result.amount)
      values.add(subject.name, 'uploads-syncs', 'each', work.syncs / result.amount)
      if (isFloor(subject)) continue
      progress(`${subject.name} with ${RECORDS[scale].toLocaleString('en')} records more`)
      await database.fill(subject.url, RECORDS[scale])
      for (const node of subject.nodes) await call(listOf(node))
      for (let round = 0; round < rounds; round++) {
        values.addLoad(subject.name, 'lists-beside-many', await loads.lists(subject))
        values.addLoad(subject.name, 'uploads-beside-many', await loads.uploads(subject), true)
      }
    }
    return values.all()
  } finally {
    for (const { nodes } of running) for (const { server } of nodes) await server.stop()
    await database.stop()
  }
}

export const fleet: Bench = {
  name: 'fleet',
  minutes: 9,
  describe: scale =>
    `uploads of ${FILE_BYTES / 1024} KiB by one account and by ${ACCOUNTS}, pages of 20 and look-ups over ` +
    `${CONNECTIONS} connections. One node with SQLite, and one and two with PostgreSQL. A floor that syncs and ` +
    `inserts in groups. Pages and uploads beside ${RECORDS[scale].toLocaleString('en')} records`,
  targets: [
    { subject: 'postgres-1', metric: 'uploads', against: 'group-commit', atLeast: 0.35 },
    { subject: 'postgres-1', metric: 'lists', against: 'sqlite', atLeast: 0.4 },
    { subject: 'postgres-1', metric: 'look-ups', against: 'sqlite', atLeast: 0.7 },
    { subject: 'postgres-2', metric: 'uploads', against: 'postgres-1', atLeast: 0.7 },
    { subject: 'postgres-2', metric: 'uploads-of-many', against: 'postgres-1', atLeast: 0.9 },
  ],
  run,
}
