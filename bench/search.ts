import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer } from '../adapters/node-http/index.ts'
import { createEngine, type Engine } from '../src/index.ts'
import { hasPostgres, startPostgres } from '../test/support/postgres-server.ts'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import { type FilledEngine, filledStore } from './list/filled-engine.ts'
import { filledPostgres } from './list/filled-postgres.ts'

/** Numbers of records, by subject. */
const SIZES: Readonly<Record<Scale, Readonly<Record<string, number>>>> = {
  full: { few: 1e4, some: 1e5, many: 1e6 },
  quick: { few: 1e4, many: 1e5 },
  tiny: { few: 300, many: 600 },
}
interface Turn {
  turn: number
  cid: string
  records: number
  /** The time in the middle of the list, in ms. */
  middle: number
}

const QUERIES: ReadonlyArray<[metric: string, pathOf: (of: Turn) => string]> = [
  ['common-word', ({ turn }) => list(`q=file&limit=${20 + turn}`)],
  ['part-of-a-word', ({ turn }) => list(`q=fil&limit=${20 + turn}`)],
  ['rare-word', ({ turn }) => list(`q=needle&limit=${20 + turn}`)],
  ['absent-word', ({ turn }) => list(`q=absent${turn}`)],
  ['another-case', ({ turn }) => list(`name=FILE&match=partial&limit=${20 + turn}`)],
  ['deep-page', ({ turn, records }) => list(`q=ile&limit=20&page=${Math.floor(records / 20) - turn}`)],
  ['first-deep-page', ({ turn, records }) => list(`q=${inCase(turn)}&limit=20&page=${Math.floor(records / 20)}`)],
  ['partial-another-case', ({ turn }) => list(`name=${inCase(turn + 1)}&match=partial`)],
  [
    'partial-deep-page',
    ({ turn, records }) => list(`name=ile%20&match=partial&limit=20&page=${lastPage(records) - turn}`),
  ],
  ['text-before', ({ turn, middle }) => list(`q=file&before=${at(middle + turn)}`)],
  ['text-after', ({ turn, middle }) => list(`q=file&after=${at(middle + turn)}`)],
  ['text-between', ({ turn, middle }) => list(`q=file&after=${at(middle + turn)}&before=${at(middle + 500)}`)],
  ['rare-between', ({ turn, middle }) => list(`q=needle&after=${at(middle + turn)}&before=${at(middle + 500)}`)],
  ['absent-before', ({ turn, middle }) => list(`q=absent&before=${at(middle + turn)}`)],
  [
    'deep-before',
    ({ turn, middle, records }) => list(`q=file&limit=20&page=${lastPage(records / 2)}&before=${at(middle + turn)}`),
  ],
  ['two-words', ({ turn }) => list(`q=file%20needle&limit=${20 + turn}`)],
  ['meta', ({ turn }) => list(`meta=%7B%22found%22%3A%22yes%22%7D&limit=${20 + turn}`)],
  ['status', ({ turn }) => list(`status=pinned&limit=${20 + turn}`)],
  ['psa-plain', ({ turn }) => psa(`limit=${10 + turn}`)],
  ['psa-statuses', ({ turn }) => psa(`status=queued,pinning,pinned,failed&limit=${10 + turn}`)],
  ['psa-name', ({ turn }) => psa(`name=file%20${100 + turn}&status=pinned`)],
  ['psa-common-part', ({ turn }) => psa(`name=file&match=partial&limit=${10 + turn}`)],
  ['psa-rare-part', ({ turn }) => psa(`name=NEEDLE&match=ipartial&limit=${10 + turn}`)],
  ['psa-absent', ({ turn }) => psa(`name=none${turn}&match=partial`)],
  ['psa-cid', ({ cid }) => psa(`cid=${cid}`)],
  ['psa-before', ({ turn }) => psa(`before=2090-01-01T00:00:00.${String(turn).padStart(3, '0')}Z&limit=20`)],
  ['psa-after', ({ turn }) => psa(`after=2020-01-01T00:00:00.${String(turn).padStart(3, '0')}Z&limit=20`)],
  ['psa-meta', ({ turn }) => psa(`meta=%7B%22found%22%3A%22yes%22%7D&limit=${10 + turn}`)],
]
const list = (query: string): string => `/api/v3/users/me/uploads?${query}`
const psa = (query: string): string => `/psa/pins?${query}`

/** Changed records before the first of these. */
const CHANGES = 10_000
/** New records at once. */
const AT_ONCE = 100
const AFTER_CHANGES: ReadonlyArray<[metric: string, path: string]> = [
  ['psa-after-changes', psa('limit=30')],
  ['search-after-changes', list('q=file%20&limit=30')],
  ['rare-after-changes', list('q=needle%20&limit=30')],
  ['list-after-changes', list('limit=30')],
]
/** Time in ms for creating as many records that expire together. */
const EXPIRY_MS = 40_000
const AFTER_EXPIRY: ReadonlyArray<[metric: string, path: string]> = [
  ['psa-after-expiry', psa('limit=31')],
  ['search-after-expiry', list('q=file%20&limit=31')],
  ['list-after-expiry', list('limit=31')],
]
/** Searches that compare the names of the whole list: 50 to 150 ns for each. */
const COMPARED: readonly string[] = [
  ...['another-case', 'partial-another-case', 'deep-page', 'first-deep-page', 'partial-deep-page', 'deep-before'],
  ...['text-before', 'text-after', 'text-between', 'rare-between', 'absent-before'],
]
const LARGEST_RATIO = 2
const NANOSECONDS_PER_MS = 1e6

const at = (ms: number): string => new Date(ms).toISOString()
const lastPage = (records: number): number => Math.floor(records / 20)

/** Returns the common word in another case for each turn, so that no count of an earlier turn is known. */
function inCase(turn: number): string {
  return [...'file'].map((letter, i) => ((turn + 1) & (1 << i) ? letter.toUpperCase() : letter)).join('')
}

/** Returns the processor time in ms of this process, which runs the server, and of a database's connections. */
function spent(database: number | null): number {
  const { user, system } = process.cpuUsage()
  const own = (user + system) / 1_000
  if (database === null) return own
  const children = readFileSync(`/proc/${database}/task/${database}/children`, 'utf8').split(' ').filter(Boolean)
  const times = children.map(pid => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]))
  return own + times.reduce((sum, time) => sum + time, 0) / NANOSECONDS_PER_MS
}

/**
 * Measures each query by processor time. No two queries are equal.
 *
 * @param database process of the database; null for SQLite
 */
async function ask(
  { engine, account, parent, cids }: FilledEngine,
  {
    rounds,
    database,
    size,
    progress,
  }: Pick<RunOptions, 'rounds' | 'progress'> & {
    database: number | null
    size: number
  },
): Promise<Map<string, number[]>> {
  const { secret } = await engine.keys.create(account, { name: 'search' })
  const server = createServer(engine).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const values = new Map<string, number[]>()
  const get = async (path: string): Promise<Answer> => {
    const response = await fetch(base + path, { headers: { authorization: `Bearer ${secret}` } })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${text.slice(0, 300)}`)
    return JSON.parse(text) as Answer
  }
  const time = async (metric: string, path: string): Promise<void> => {
    const before = spent(database)
    const { uploads = [], pagination } = await get(path)
    values.set(metric, [...(values.get(metric) ?? []), spent(database) - before])
    const isLast = pagination === undefined || pagination.page >= pagination.totalPages
    if (!isLast && uploads.length < pagination.limit) throw new Error(`${path} is short, but not the last page`)
  }
  try {
    const { uploads } = await get(list(`limit=1&page=${Math.ceil(size / 2)}`))
    const middle = Date.parse(uploads?.[0]?.uploadedAt ?? '')
    // The first round is a warm-up.
    for (let turn = 0; turn <= rounds; turn++) {
      for (const [metric, pathOf] of QUERIES) {
        await time(metric, pathOf({ turn, cid: cids[turn % cids.length] ?? '', records: size, middle }))
        if (turn === 0) values.clear()
      }
    }
    await change(engine, account, Math.min(CHANGES, size - 1))
    for (const [metric, path] of AFTER_CHANGES) await time(metric, path)
    if (size < CHANGES) return values
    progress(`${await expire(engine, { account, cid: parent }, CHANGES)} records have expired`)
    for (const [metric, path] of AFTER_EXPIRY) await time(metric, path)
  } finally {
    server.close()
    server.closeAllConnections()
  }
  return values
}

/** A page of the contract's list. The pinning API has neither field. */
interface Answer {
  uploads?: Array<{ uploadedAt: string }>
  pagination?: { page: number; limit: number; totalPages: number }
}

/** Changes this many records, so that their words wait for the index. */
async function change(engine: Engine, account: string, records: number): Promise<void> {
  for (let page = 1, left = records; left > 0; page++) {
    const { items } = await engine.pins.list({ account, limit: Math.min(left, 1_000), page })
    await Promise.all(
      items.map(({ uploadId, name }) => engine.pins.rename({ account, uploadId, name: `${name} changed` })),
    )
    left -= items.length
  }
}

/** Creates this many records, or as many as the time allows, and waits until they expire. Returns their number. */
async function expire(engine: Engine, pin: { account: string; cid: string }, records: number): Promise<number> {
  const end = Date.now() + EXPIRY_MS
  const timelock = new Date(end)
  let made = 0
  for (; made < records && Date.now() < end - 2_000; made += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => engine.pins.pin({ ...pin, timelock, isAnew: true })))
  }
  await sleep(end - Date.now())
  return made
}

/** Measures each size of a catalogue. The names of the subjects begin with `prefix`. */
async function measure(
  { dir, scale, rounds, subjects, progress, signal }: RunOptions,
  {
    prefix,
    database,
    fill,
  }: { prefix: string; database: number | null; fill: (dir: string, size: number) => Promise<FilledEngine> },
): Promise<Measurement[]> {
  const measurements: Measurement[] = []
  for (const [name, size] of Object.entries(SIZES[scale])) {
    signal.throwIfAborted()
    const subject = prefix + name
    if (subjects?.includes(subject) === false) continue
    progress(`${size} records: ${subject}`)
    const own = join(dir, subject)
    await mkdir(own)
    const filled = await fill(own, size)
    try {
      for (const [metric, values] of await ask(filled, { rounds, database, size, progress })) {
        measurements.push({ subject, metric, unit: 'ms', better: 'lower', values })
      }
    } finally {
      await filled.engine.stop()
    }
  }
  return measurements
}

async function filledSqlite(dataDir: string, size: number, samples: number): Promise<FilledEngine> {
  const filled = await filledStore(dataDir, size, samples)
  await filled.engine.stop()
  // The pinning API needs a node that others can reach.
  return { ...filled, engine: await createEngine({ dataDir, network: { enabled: true } }) }
}

async function ofPostgres(options: RunOptions): Promise<Measurement[]> {
  if (!hasPostgres) return []
  const server = await startPostgres()
  try {
    return await measure(options, {
      ...{ prefix: 'postgres-', database: server.pid ?? null },
      fill: async (dir, records) =>
        filledPostgres(dir, { database: await server.fresh(), records, samples: options.rounds + 1 }),
    })
  } finally {
    await server.stop()
  }
}

export const search: Bench = {
  name: 'search',
  minutes: 14,
  describe: scale => {
    const sizes = Object.values(SIZES[scale]).map(size => size.toLocaleString('en'))
    return (
      'processor time of searches and of pages of the pinning API, over HTTP. ' +
      `Accounts have ${sizes.join(', ')} records, in SQLite and, if installed, in PostgreSQL`
    )
  },
  targets: ['', ...(hasPostgres ? ['postgres-'] : [])].flatMap(prefix =>
    QUERIES.filter(([metric]) => !COMPARED.includes(metric)).map(([metric]) => ({
      ...{ subject: `${prefix}many`, metric, against: `${prefix}few`, atLeast: 1 / LARGEST_RATIO },
    })),
  ),
  async run(options) {
    const fill = (dir: string, size: number) => filledSqlite(dir, size, options.rounds + 1)
    const sqlite = await measure(options, { prefix: '', database: null, fill })
    return [...sqlite, ...(await ofPostgres(options))]
  },
}
