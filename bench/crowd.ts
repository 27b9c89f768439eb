import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createEngine } from '../src/index.ts'
import { hasPostgres, startPostgres } from '../test/support/postgres-server.ts'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import { ChildServer } from './child-server.ts'
import { HealthWatch } from './health-watch.ts'
import { filledStore, spreadStore } from './list/filled-engine.ts'
import { filledPostgres, spreadPostgres } from './list/filled-postgres.ts'
import { residentBytes } from './resident-bytes.ts'

interface Size {
  records: number
  /** Searches at once, of one account. */
  crowd: number
}

const SIZES: Readonly<Record<Scale, Size>> = {
  full: { records: 100_000, crowd: 1_000 },
  quick: { records: 100_000, crowd: 1_000 },
  tiny: { records: 400, crowd: 20 },
}
const ACCOUNTS = 50
const OF_EACH = 20
const MIB = 1024 ** 2
const LIMIT_MIB = 384
const ALONE_MS = 3_000
/** Searches of another account, in turn, so that none repeats the last answer. */
const SEARCHES = Array.from({ length: 100 }, (_, i) => `/api/v3/users/me/uploads?q=file&limit=${1 + i}`)
const SERVER = fileURLToPath(new URL('../adapters/cli/main.ts', import.meta.url))
const BARE = fileURLToPath(new URL('refusing-server.ts', import.meta.url))
/** The directory of memory groups of version 1 of control groups, and of all groups of version 2. */
const GROUPS = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup']

interface Credentials {
  /** A credential of each account. The first account asks the most. */
  keys: string[]
  /** A credential of another account. */
  other: string
}

interface Filled extends Credentials {
  dir: string
  args: string[]
}

/** Runs commands with limited memory, if this process may make a control group. */
class MemoryGroup {
  readonly path: string | null

  constructor() {
    this.path = GROUPS.map(groupIn).find(path => path !== null) ?? null
  }

  command(command: string): string {
    return this.path === null ? `exec ${command}` : `echo $$ > ${this.path}/cgroup.procs && exec ${command}`
  }

  async close(): Promise<void> {
    // The kernel needs a moment after the last process.
    await sleep(200)
    if (this.path !== null) rmdirSync(this.path)
  }
}

function groupIn(parent: string): string | null {
  const path = join(parent, `holdfast-bench-${process.pid}`)
  try {
    mkdirSync(path)
    const limit = parent.endsWith('memory') ? 'memory.limit_in_bytes' : 'memory.max'
    writeFileSync(join(path, limit), String(LIMIT_MIB * MIB))
    return path
  } catch {
    try {
      rmdirSync(path)
    } catch {
      // The directory was not made.
    }
    return null
  }
}

type Answers = Map<number, number>

/** Sends a search. Resolves with its status, or 0 if the connection broke. Only 503 and 429 with Retry-After count as refused. */
async function ask(url: string, key: string, query: string): Promise<number> {
  try {
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`${url}/api/v3/users/me/uploads?${query}`, { headers })
    await response.arrayBuffer()
    const mayRetry = response.headers.get('retry-after') !== null
    return response.status === 200 || mayRetry ? response.status : -response.status
  } catch {
    return 0
  }
}

function serve({ dir, args }: Filled): string {
  return [SERVER, 'serve', '--port', '0', '--data-dir', dir, ...args].join(' ')
}

/** Sends a search with each of these credentials, all at once. @param program of the server, with its arguments */
async function storm(program: string, { keys, other: secret }: Credentials): Promise<Record<string, number>> {
  const group = new MemoryGroup()
  const shell = ['-c', group.command(`${process.execPath} --max-semi-space-size=4 ${program}`)]
  const server = await ChildServer.run('sh', shell, process.env, /listening on (http:\S+)/)
  let highest = 0
  const watch = setInterval(() => {
    residentBytes(server.pid).then(
      bytes => {
        highest = Math.max(highest, bytes)
      },
      () => undefined,
    )
  }, 50)
  try {
    const other = new HealthWatch(server.url, { paths: SEARCHES, headers: { authorization: `Bearer ${secret}` } })
    const alone = await other.during(() => sleep(ALONE_MS))
    let statuses: number[] = []
    const since = performance.now()
    const beside = await other.during(async () => {
      statuses = await Promise.all(keys.map((key, i) => ask(server.url, key, `q=file&limit=20&page=${1 + i}`)))
    })
    const seconds = (performance.now() - since) / 1_000
    await other.stop()
    const answers: Answers = new Map()
    for (const status of statuses) answers.set(status, (answers.get(status) ?? 0) + 1)
    const good = answers.get(200) ?? 0
    const refused = (answers.get(503) ?? 0) + (answers.get(429) ?? 0)
    return {
      'answered-a-second': good / seconds,
      refused,
      lost: statuses.length - good - refused,
      'p99-of-another-alone': alone.p99Ms,
      'p99-of-another-beside': beside.p99Ms,
      'longest-of-another-beside': beside.longestMs,
      'highest-memory': highest / MIB,
    }
  } finally {
    clearInterval(watch)
    await server.stop()
    await group.close()
  }
}

const UNITS: Readonly<Record<string, string>> = {
  'answered-a-second': '/s',
  refused: 'searches',
  lost: 'searches',
  'highest-memory': 'MiB',
}

function measured(subject: string, storms: ReadonlyArray<Record<string, number>>): Measurement[] {
  return Object.keys(storms[0] ?? {}).map(metric => ({
    ...{ subject, metric, unit: UNITS[metric] ?? 'ms' },
    better: metric === 'answered-a-second' ? 'higher' : 'lower',
    values: storms.map(values => values[metric] ?? Number.NaN),
  }))
}

/** Creates the other accounts and the credentials. The first account of a spread list is the one that was filled. */
async function prepared(
  dir: string,
  database: string | null,
  { account, accounts }: { account: string; accounts: number },
): Promise<Filled & { accounts: string[] }> {
  const more =
    database === null ? {} : { database, catalogue: (await import('../adapters/postgres/index.ts')).postgres }
  const engine = await createEngine({ dataDir: dir, ...more })
  try {
    const ids = [account]
    for (let i = 1; i < accounts; i++) {
      ids.push((await engine.accounts.create({ email: `crowd-${i}@example.org`, plan: 'unlimited' })).id)
    }
    const other = (await engine.accounts.create({ email: 'other@example.org', plan: 'unlimited' })).id
    for (let i = 0; i < OF_EACH; i++)
      await engine.pins.upload(Buffer.from(`${i}`), { account: other, name: `file ${i}` })
    const key = async (id: string): Promise<string> => (await engine.keys.create(id, { name: 'crowd' })).secret
    const keys: string[] = []
    for (const id of ids) keys.push(await key(id))
    const config = join(dir, 'crowd.json')
    if (database !== null) writeFileSync(config, JSON.stringify({ database }))
    const args = database === null ? [] : ['--config', config]
    return { dir, args, keys, other: await key(other), accounts: ids }
  } finally {
    await engine.stop()
  }
}

/** Measures one crowded account, and many accounts with a few searches each. */
async function storms(
  { dir, scale, progress, signal }: RunOptions,
  prefix: string,
  fill: (dir: string, records: number) => Promise<{ account: string; database: string | null }>,
  spread: (filled: { dir: string; database: string | null; accounts: string[] }) => Promise<void>,
): Promise<Measurement[]> {
  const { records, crowd } = SIZES[scale]
  const own = join(dir, `${prefix}crowd`)
  await mkdir(own)
  progress(`${prefix}${records} records`)
  const { account, database } = await fill(own, records)
  const filled = await prepared(own, database, { account, accounts: ACCOUNTS })
  signal.throwIfAborted()
  progress(`${prefix}${crowd} searches of one account`)
  const keys = Array.from({ length: crowd }, () => filled.keys[0] ?? '')
  const one = await storm(serve(filled), { ...filled, keys })
  // A bare server shows the share of the clients, Node and this machine.
  const bare = await storm(`${BARE} ${filled.other}`, { ...filled, keys })
  signal.throwIfAborted()
  progress(`${prefix}${ACCOUNTS} accounts with ${OF_EACH} searches each`)
  await spread({ dir: own, database, accounts: filled.accounts })
  const mixed = Array.from({ length: ACCOUNTS * OF_EACH }, (_, i) => filled.keys[i % ACCOUNTS] ?? '')
  const many = await storm(serve(filled), { ...filled, keys: mixed })
  return [
    ...measured(`${prefix}one-account`, [one]),
    ...measured(`${prefix}bare-server`, [bare]),
    ...measured(`${prefix}many-accounts`, [many]),
  ]
}

export const crowd: Bench = {
  name: 'crowd',
  isOnce: true,
  minutes: 5,
  describe: scale =>
    `${SIZES[scale].crowd} searches at once among ${SIZES[scale].records} records, in ${LIMIT_MIB} MiB if control groups may be made`,
  targets: [],
  async run(options) {
    const sqlite = await storms(
      options,
      '',
      async (dir, records) => {
        const { engine, account } = await filledStore(dir, records, 1)
        await engine.stop()
        return { account, database: null }
      },
      async ({ dir, accounts }) => spreadStore(dir, accounts),
    )
    if (!hasPostgres) return sqlite
    const server = await startPostgres()
    try {
      const inPostgres = await storms(
        options,
        'postgres-',
        async (dir, records) => {
          const database = await server.fresh()
          const { engine, account } = await filledPostgres(dir, { database, records, samples: 1 })
          await engine.stop()
          return { account, database }
        },
        async ({ database, accounts }) => spreadPostgres(database ?? '', accounts),
      )
      return [...sqlite, ...inPostgres]
    } finally {
      await server.stop()
    }
  },
}
