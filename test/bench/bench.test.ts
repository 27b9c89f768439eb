import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { background } from '../../bench/background.ts'
import type { Bench, Measurement, RunOptions } from '../../bench/bench.ts'
import { clientsBench } from '../../bench/clients-bench.ts'
import { clusters } from '../../bench/clusters/clusters.ts'
import { collect } from '../../bench/collect.ts'
import { parseCommand, UsageError } from '../../bench/command-line.ts'
import { FileContent, TreeContent } from '../../bench/content.ts'
import { rotated, runContest, type Subject, type Work } from '../../bench/contest.ts'
import { cores } from '../../bench/cores.ts'
import { dag } from '../../bench/dag.ts'
import { deletes } from '../../bench/delete.ts'
import { fair } from '../../bench/fair.ts'
import { fetch } from '../../bench/fetch.ts'
import { fleet } from '../../bench/fleet.ts'
import { gateway } from '../../bench/gateway.ts'
import { writeHashed } from '../../bench/hashed-file.ts'
import { list } from '../../bench/list/list.ts'
import { loop } from '../../bench/loop.ts'
import { memory } from '../../bench/memory.ts'
import { MultipartForm } from '../../bench/multipart-form.ts'
import { findProgram } from '../../bench/programs.ts'
import { repair } from '../../bench/repair.ts'
import { median, rowsOf, tableOf } from '../../bench/report.ts'
import { comparisonOf, readSavedRun } from '../../bench/saved-run.ts'
import { scale } from '../../bench/scale.ts'
import { search } from '../../bench/search.ts'
import { isOlder } from '../../bench/services/built-server.ts'
import { plain } from '../../bench/services/plain.ts'
import { call } from '../../bench/services/service.ts'
import { small } from '../../bench/small.ts'
import { start } from '../../bench/start.ts'
import { status } from '../../bench/status.ts'
import { takedowns } from '../../bench/takedowns.ts'
import { testEngine } from '../../bench/test-engine.ts'
import { distanceOf, timing } from '../../bench/timing.ts'
import { upload } from '../../bench/upload.ts'
import { findIpfsCluster } from '../support/ipfs-cluster.ts'
import { hasPostgres } from '../support/postgres-server.ts'

let dir: string

/** With HOLDFAST_TEST_HEAVY, the services of other projects and the slow benches run too. */
const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''

beforeEach(async () => {
  if (!isHeavy) for (const name of ['HOLDFAST_TEST_IPFS', 'HOLDFAST_TEST_IPFS_CLUSTER']) vi.stubEnv(name, '')
  dir = await mkdtemp(join(tmpdir(), 'holdfast-bench-'))
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(dir, { recursive: true, force: true })
})

function tinyRun(over: Partial<RunOptions> = {}): RunOptions {
  return { dir, scale: 'tiny', rounds: 1, progress: () => undefined, signal: new AbortController().signal, ...over }
}

const LIGHT = [
  upload,
  dag,
  small,
  fetch,
  gateway,
  takedowns,
  timing,
  list,
  status,
  deletes,
  collect,
  start,
  testEngine,
  memory,
  search,
]

test.each(isHeavy ? [...LIGHT, fair, loop, background, scale, ...(hasPostgres ? [fleet, repair] : [])] : LIGHT)(
  '$name runs every subject of its targets with the same CID',
  async bench => {
    const measurements = await bench.run(tinyRun())
    // A distance may be 0.
    const least = bench === timing ? 0 : Number.MIN_VALUE
    for (const row of rowsOf(bench.name, bench.targets, measurements)) expect(row.value).toBeGreaterThanOrEqual(least)
    const compared = rowsOf(bench.name, bench.targets, measurements).filter(row => row.ratio !== undefined)
    expect(compared.map(({ subject, against }) => `${subject}/${against}`).sort()).toEqual(
      bench.targets.map(({ subject, against }) => `${subject}/${against}`).sort(),
    )
  },
  120_000,
)

const OF_PROGRAMS = [
  { bench: clientsBench, program: 'nginx' },
  { bench: cores, program: 'taskset' },
] as const

test.each(isHeavy ? OF_PROGRAMS : OF_PROGRAMS.slice(0, 1))(
  '$bench.name measures the services that exist',
  async ({ bench, program }) => {
    // The bench of cores runs with one core, the other bench with all services found.
    const run = bench.run(tinyRun(program === 'taskset' ? { subjects: ['cores-1'] } : {}))
    if (findProgram(program) === null) await expect(run).rejects.toThrow(`there is no ${program}`)
    else for (const row of rowsOf(bench.name, [], await run)) expect(row.value).toBeGreaterThan(0)
  },
  120_000,
)

test('clusters are measured on each installed service until answered and until pinned', async () => {
  const measurements = await clusters.run(tinyRun())
  const metricsOf = (wanted: string) => measurements.filter(({ subject }) => subject === wanted).map(row => row.metric)
  const stores = ['one-by-one', 'sixteen-at-once', 'file', 'folder']
  expect(metricsOf('embedded')).toEqual(expect.arrayContaining(stores.flatMap(name => [name, `${name}-pinned`])))
  expect(metricsOf('embedded')).toEqual(expect.arrayContaining(['read-file', 'read-ranges', 'read-small']))
  const isThere = { kubo: findProgram('kubo') !== null, 'ipfs-cluster': findIpfsCluster() !== null }
  for (const [name, isHere] of Object.entries(isThere)) {
    for (const subject of [name, `on-${name}`]) {
      expect(metricsOf(subject).filter(metric => metric.endsWith('-pinned'))).toHaveLength(isHere ? stores.length : 0)
    }
  }
  for (const { metric, values } of measurements) {
    if (!metric.includes('-cpu-') && !metric.includes('-written-')) expect(values[0], metric).toBeGreaterThan(0)
  }
}, 120_000)

class Counter implements Work {
  fills = 0
  refill(): void {
    this.fills++
  }
}

/** A subject that records the order of the rounds. */
function recording(name: string, turns: string[], cid: string | undefined): Subject<Counter> {
  return {
    name,
    async start() {
      return {
        async run(work) {
          turns.push(`${name}${work.fills}`)
          return cid === undefined ? {} : { cid }
        },
        async stop() {
          turns.push(`stop ${name}`)
        },
      }
    },
  }
}

function counting(subjects: Subject<Counter>[]) {
  return {
    metric: 'turns',
    unit: 'x',
    better: 'higher',
    subjects,
    createWork: () => new Counter(),
    value: (work: Counter) => work.fills,
  } as const
}

test('rounds rotate on fresh content after an uncounted warm-up', async () => {
  const turns: string[] = []
  const subjects = ['a', 'b', 'c'].map(name => recording(name, turns, undefined))
  const measurements = await runContest(counting(subjects), tinyRun({ rounds: 4 }))
  const rounds = ['a1', 'b1', 'c1', 'b2', 'c2', 'a2', 'c3', 'a3', 'b3', 'a4', 'b4', 'c4']
  expect(turns).toEqual(['a1', 'b1', 'c1', ...rounds, 'stop c', 'stop b', 'stop a'])
  expect(measurements.map(({ subject, values }) => [subject, values])).toEqual([
    ['a', [1, 2, 3, 4]],
    ['b', [1, 2, 3, 4]],
    ['c', [1, 2, 3, 4]],
  ])
})

test("a value that a subject reports replaces the clock's", async () => {
  const told = { value: 7, also: { wait: 3 }, client: 'curl' }
  const said: Subject<Counter> = {
    name: 'said',
    start: async () => ({ pids: [process.pid], run: async () => told, stop: async () => undefined }),
  }
  const clocked: Subject<Counter> = {
    name: 'clocked',
    start: async () => ({ run: async () => ({ seconds: 2, done: 10 }), stop: async () => undefined }),
  }
  const contest = { ...counting([said, clocked]), value: (_: Counter, seconds: number, done: number) => done / seconds }
  const measurements = await runContest(contest, tinyRun({ rounds: 2 }))
  expect(
    measurements.map(({ subject, metric, unit, better, values }) => [subject, metric, unit, better, values]),
  ).toEqual([
    ['said', 'turns', 'x', 'higher', [7, 7]],
    ['said', 'wait', 'ms', 'lower', [3, 3]],
    ['clocked', 'turns', 'x', 'higher', [5, 5]],
  ])
  const [first, , last] = measurements
  expect(first?.client).toBe('curl')
  expect(first?.costs ?? []).toHaveLength(process.platform === 'linux' ? 2 : 0)
  expect(last).not.toHaveProperty('costs')
})

test('a row has medians of cost per operation and the peak memory', () => {
  const cost = (cpuSeconds: number, peakMiB: number) => ({
    ...{ cpuSeconds, busiestSeconds: cpuSeconds / 2, peakMiB, writtenMiB: 0, amount: 100, clientShare: 0.25 },
  })
  const costs = [cost(1, 50), cost(3, 90.4), cost(2, 70)]
  const [row] = rowsOf('b', [], [{ ...measured('ours', [1]), costs, client: 'wrk' }])
  expect(row).toMatchObject({ cpuSeconds: 2, cpuMs: 20, busiestMs: 10, peakMiB: 90, client: 'wrk', clientShare: 0.25 })
  const bench: Bench = { name: 'b', minutes: 1, describe: () => '', targets: [], run: async () => [] }
  expect(tableOf(bench, row === undefined ? [] : [row])).toBe('  ours  m  1 u    2 s cpu  90 MiB  wrk')
})

test('subjects that store different things fail the run and are stopped', async () => {
  const turns: string[] = []
  const subjects = [recording('a', turns, 'bafya'), recording('b', turns, 'bafyb')]
  await expect(runContest(counting(subjects), tinyRun())).rejects.toThrow('disagree about the CID: a bafya, b bafyb')
  expect(turns.slice(-2)).toEqual(['stop b', 'stop a'])
})

test('an interrupted run stops what it started', async () => {
  const turns: string[] = []
  const run = runContest(counting([recording('a', turns, undefined)]), tinyRun({ signal: AbortSignal.abort() }))
  await expect(run).rejects.toThrow()
  expect(turns).toEqual([])
})

test('rotates a list by a number of places', () => {
  expect(rotated([1, 2, 3], 4)).toEqual([2, 3, 1])
  expect(rotated([], 2)).toEqual([])
})

test('the median of an odd and of an even number of values', () => {
  expect(median([9, 1, 5])).toBe(5)
  expect(median([4, 1, 3, 100])).toBe(3.5)
  expect(() => median([])).toThrow()
})

const measured = (subject: string, values: number[], better: 'higher' | 'lower' = 'higher'): Measurement => ({
  subject,
  metric: 'm',
  unit: 'u',
  better,
  values,
})

test('a row for each pair with a target, else without a ratio', () => {
  const targets = [
    { subject: 'ours', metric: 'm', against: 'theirs', atLeast: 2 },
    { subject: 'ours', metric: 'm', against: 'bound', atLeast: 0.5 },
    { subject: 'ours', metric: 'another', against: 'theirs', atLeast: 9 },
  ]
  const rows = rowsOf('b', targets, [measured('ours', [10, 30, 20]), measured('theirs', [8]), measured('bound', [50])])
  expect(rows).toEqual([
    {
      bench: 'b',
      subject: 'ours',
      metric: 'm',
      value: 20,
      unit: 'u',
      spread: [10, 30],
      rounds: 3,
      against: 'theirs',
      ratio: 2.5,
    },
    {
      bench: 'b',
      subject: 'ours',
      metric: 'm',
      value: 20,
      unit: 'u',
      spread: [10, 30],
      rounds: 3,
      against: 'bound',
      ratio: 0.4,
    },
    { bench: 'b', subject: 'theirs', metric: 'm', value: 8, unit: 'u', spread: [8, 8], rounds: 1 },
    { bench: 'b', subject: 'bound', metric: 'm', value: 50, unit: 'u', spread: [50, 50], rounds: 1 },
  ])
  const bench: Bench = { name: 'b', minutes: 1, describe: () => '', targets, run: async () => [] }
  expect(tableOf(bench, rows).split('\n')).toEqual([
    '  ours    m  20 u  10 to 30  2.5 x theirs  target 2    met',
    '  ours    m  20 u  10 to 30  0.4 x bound   target 0.5  MISSED',
    '  theirs  m  8 u',
    '  bound   m  50 u',
  ])
})

test('the ratio of times is theirs to ours, so higher is better', () => {
  const targets = [{ subject: 'ours', metric: 'm', against: 'theirs', atLeast: 1 }]
  const rows = rowsOf('b', targets, [measured('ours', [2], 'lower'), measured('theirs', [6], 'lower')])
  expect(rows[0]?.ratio).toBe(3)
})

test('the command line names unknown arguments', () => {
  const known = ['upload', 'dag']
  expect(parseCommand([], known)).toMatchObject({ names: [], size: 'full', json: false })
  expect(parseCommand(['all'], [...known, 'table']).names).toEqual(known)
  expect(parseCommand(['table', 'dag'], [...known, 'table']).names).toEqual(['table', 'dag'])
  expect(parseCommand(['dag', '--quick', '--json', 'dag', '--dir', 'x'], known)).toMatchObject({
    names: ['dag'],
    size: 'quick',
    json: true,
    help: false,
    dir: 'x',
  })
  const chosen = ['dag', '--size', 'tiny', '--rounds', '2', '--subject', 'a', '--subject', 'b']
  expect(parseCommand(chosen, known)).toMatchObject({ size: 'tiny', rounds: 2, subjects: ['a', 'b'] })
  expect(() => parseCommand(['dag', '--size', 'huge'], known)).toThrow('--size must be one of full, quick, tiny')
  for (const rounds of ['0', '1.5', 'x']) expect(() => parseCommand(['--rounds', rounds], known)).toThrow('--rounds')
  expect(() => parseCommand(['uplod'], known)).toThrow(
    new UsageError('unknown bench "uplod"; there are: upload, dag, all'),
  )
  expect(() => parseCommand(['--fast'], known)).toThrow(/--fast/)
  expect(() => parseCommand(['--dir'], known)).toThrow(/--dir/)
})

const main = join(import.meta.dirname, '../../bench/main.ts')
const bench = (...args: string[]) => promisify(execFile)(process.execPath, [main, ...args])

test.each([['nonsense'], ['--nonsense']])('%s prints one line and exits with code 2', async wrong => {
  const failure = await bench(wrong).catch((error: { code: number; stdout: string; stderr: string }) => error)
  expect(failure).toMatchObject({ code: 2, stdout: '' })
  expect(failure.stderr).toMatch(/^[^\n]*nonsense[^\n]*\n$/)
})

test('--help, or no argument, lists the benches and their durations', async () => {
  const [helped, bare] = await Promise.all([bench('--help'), bench()])
  expect(bare.stdout).toBe(helped.stdout)
  for (const name of ['upload', 'dag', 'gateway', '--quick', '--json']) expect(bare.stdout).toContain(name)
  expect(bare.stdout).toMatch(/^ {2}upload +about \d+ minutes: one file of 512 MiB$/m)
  expect(bare.stdout).toMatch(/^ {2}all +about \d+ minutes: all of these$/m)
})

test('a run reports its machine and spread, is saved and compared', async () => {
  const file = join(dir, 'saved.json')
  const tiny = ['upload', '--size', 'tiny', '--rounds', '2', '--subject', 'limit', '--dir', dir]
  const { stdout } = await bench(...tiny, '--json', '--save', file)
  const [head, row, ...others] = stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(head.environment).toMatchObject({ node: process.version, cores: cpus().length })
  expect(head.environment.commit).toMatch(/^([0-9a-f]{12}\+?|unknown)$/)
  expect(row).toMatchObject({ bench: 'upload', subject: 'limit', rounds: 2, value: expect.any(Number) })
  expect(row.spread[0]).toBeLessThanOrEqual(row.value)
  expect(row.spread[1]).toBeGreaterThanOrEqual(row.value)
  expect(others).toEqual([])
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ environment: head.environment, size: 'tiny', rows: [row] })

  const again = await bench(...tiny, '--compare', file)
  expect(again.stdout).toMatch(/^Node v[\d.]+, .* cores, \d+ GB, \S+, load [\d.]+, commit /)
  expect(again.stdout).toMatch(/^ {2}limit +throughput +\S+ MB\/s +\S+ to \S+$/m)
  expect(again.stdout).toMatch(
    new RegExp(`^ {2}upload limit throughput {2}\\S+ MB/s, was ${row.value}, x [\\d.]+$`, 'm'),
  )
  const nobody = await bench('upload', '--size', 'tiny', '--subject', 'nobody', '--dir', dir).catch(error => error)
  expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining('upload has no subject nobody') })
  const elsewhere = { size: 'tiny' as const, environment: { ...head.environment, processor: 'another' }, rows: [row] }
  expect(comparisonOf({ ...elsewhere, environment: head.environment }, elsewhere)[1]).toContain(
    'measured on another machine',
  )
  expect(() => readSavedRun(join(dir, 'missing.json'))).toThrow('cannot be read as a saved run')
}, 120_000)

test('the limit writes and hashes exactly its input', async () => {
  const content = new FileContent(3 * 1024 * 1024 + 17)
  content.refill()
  const sha256 = await writeHashed(content.chunks(), join(dir, 'file'))
  expect((await readFile(join(dir, 'file'))).equals(content.bytes)).toBe(true)
  expect(sha256).toBe(createHash('sha256').update(content.bytes).digest('hex'))
  await expect(writeHashed(content.chunks(), join(dir, 'file'))).rejects.toThrow('EEXIST')
  expect(await readdir(dir)).toEqual(['file'])
})

test('a form has its announced length and parses back to its parts', async () => {
  const tree = new TreeContent(120, 1_000)
  tree.refill()
  const large = Buffer.alloc(200_000, 7)
  const parts = [...tree.files.map(file => ({ ...file, content: file.bytes })), { path: 'large', content: large }]
  const form = new MultipartForm(parts.map(({ path, content }) => ({ name: 'files[]', filename: path, content })))
  const chunks = [...form.chunks()]
  const body = Buffer.concat(chunks)
  expect(body.length).toBe(form.contentLength)
  expect(Math.max(...chunks.map(chunk => chunk.length))).toBeLessThanOrEqual(64 * 1024)
  // Node's own parser checks the form.
  const read = await new Response(body, { headers: { 'content-type': form.contentType } }).formData()
  const files = read.getAll('files[]')
  expect(files).toHaveLength(121)
  for (const [index, { path, content }] of parts.entries()) {
    const file = files[index]
    if (!(file instanceof File)) throw new Error('not a file')
    expect(file.name).toBe(path)
    expect(Buffer.from(await file.arrayBuffer()).equals(content)).toBe(true)
  }
})

test('the bare server keeps uploads until it stops, then removes all', async () => {
  const server = await plain.start(dir)
  const files = () => readdirSync(dir, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  try {
    for (let sent = 1; sent <= 3; sent++) {
      await call(server.upload('file'), Buffer.from(`body ${sent}`))
      expect(files()).toHaveLength(sent)
    }
  } finally {
    await server.stop()
  }
  expect(await readdir(dir)).toEqual([])
})

test('a build is older than changed sources', async () => {
  const [built, source] = [join(dir, 'built'), join(dir, 'src')]
  await mkdir(source)
  await writeFile(join(source, 'a.ts'), '')
  const date = (path: string, seconds: number) => utimes(path, seconds, seconds)
  for (const path of [join(source, 'a.ts'), source]) await date(path, 1_000)
  expect(isOlder(built, dir, ['src'])).toBe(true)
  await writeFile(built, '')
  await date(built, 2_000)
  expect(isOlder(built, dir, ['src'])).toBe(false)
  await date(join(source, 'a.ts'), 3_000)
  expect(isOlder(built, dir, ['src'])).toBe(true)
  await rm(join(source, 'a.ts'))
  expect(isOlder(built, dir, ['src'])).toBe(true)
  await date(source, 1_000)
  expect(isOlder(built, dir, ['src/', 'built'])).toBe(false)
})

test('the distance of two kinds of times is between 0 and 0.5', () => {
  expect(distanceOf([1, 2, 3, 4], [1, 2, 3, 4])).toBe(0)
  expect(distanceOf([5, 6, 7], [1, 2, 3])).toBe(0.5)
  expect(distanceOf([1, 2, 3], [5, 6, 7])).toBe(0.5)
  expect(distanceOf([1, 1, 2], [1, 2, 2])).toBeCloseTo(1 / 6)
})
