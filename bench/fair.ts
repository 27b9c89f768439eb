import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import { ChildServer } from './child-server.ts'
import type { Repeated } from './fair/ask.ts'
import type { Crowd } from './fair/crowd.ts'
import type { ProbeTimes } from './fair/probe.ts'
import { filledStore } from './list/filled-engine.ts'
import { startStandalone } from './services/holdfast.ts'
import { plain } from './services/plain.ts'
import type { Call } from './services/service.ts'

interface Size {
  records: number
  lists: number
  searches: number
  uploads: number
  uploadBytes: number
  seconds: number
}

const SIZES: Readonly<Record<Scale, Size>> = {
  full: { records: 1e6, lists: 200, searches: 50, uploads: 64, uploadBytes: 20 * 2 ** 20, seconds: 10 },
  quick: { records: 1e5, lists: 200, searches: 50, uploads: 64, uploadBytes: 20 * 2 ** 20, seconds: 5 },
  tiny: { records: 300, lists: 3, searches: 3, uploads: 2, uploadBytes: 2 ** 20, seconds: 0.2 },
}
/** In ms. Another account should wait no longer. */
const BOUNDS: Readonly<Record<string, number>> = { p50: 5, p99: 25 }
const PROBE_BYTES = 1024
const WARM_UP_MS = 1_500

const CROWD = fileURLToPath(new URL('./fair/crowd.ts', import.meta.url))
const PROBE = fileURLToPath(new URL('./fair/probe.ts', import.meta.url))
const run = promisify(execFile)

/** A server with an account whose clients are the crowd, and another account. */
interface Asked {
  me: Call
  list: Call
  search: Call
  upload: Call
  uploadOfCrowd: Call
}

/** Runs some work while a crowd of low priority asks. Without a crowd, only runs the work. */
async function beside<T>(crowd: Crowd | null, work: () => Promise<T>): Promise<T> {
  if (crowd === null) return work()
  const command = ['-n', '10', process.execPath, CROWD, JSON.stringify(crowd)]
  const clients = await ChildServer.run('nice', command, process.env, /^asking$/)
  try {
    await sleep(WARM_UP_MS)
    return await work()
  } finally {
    await clients.stop()
  }
}

async function probe(repeated: Repeated, seconds: number): Promise<ProbeTimes> {
  const { stdout } = await run(process.execPath, [PROBE, JSON.stringify({ ...repeated, seconds })])
  return JSON.parse(stdout) as ProbeTimes
}

async function withFilledServer<T>(dir: string, records: number, use: (asked: Asked) => Promise<T>): Promise<T> {
  const { engine, account } = await filledStore(dir, records, 1)
  const { secret } = await engine.keys.create(account, { name: 'crowd' })
  await engine.stop()
  const { server, headers } = await startStandalone(dir)
  const api = `${server.url}/api/v3`
  const crowd = { authorization: `Bearer ${secret}` }
  const get = (path: string, of = crowd): Call => ({ method: 'GET', url: `${api}${path}`, headers: of })
  const post = (of: Record<string, string>): Call => ({ method: 'POST', url: `${api}/files`, headers: of })
  const me = get('/users/me', { authorization: headers.authorization ?? '' })
  try {
    return await use({
      ...{ me, list: get('/users/me/uploads?limit=1000'), search: get('/users/me/uploads?q=file') },
      ...{ upload: post(headers), uploadOfCrowd: post(crowd) },
    })
  } finally {
    await server.stop()
  }
}

const crowdsOf = ({ list, search, uploadOfCrowd }: Asked, size: Size): ReadonlyArray<[string, Crowd | null]> => [
  ['alone', null],
  ['lists', { call: list, clients: size.lists }],
  ['searches', { call: search, clients: size.searches }],
  ['uploads', { call: uploadOfCrowd, clients: size.uploads, fileBytes: size.uploadBytes }],
]

/** Values of each round, by subject and metric. */
class Values {
  readonly #measurements = new Map<string, Measurement>()

  add(subject: string, of: string, times: ProbeTimes): void {
    for (const [name, value] of Object.entries(times) as Array<[string, number]>) {
      const metric = `${of}-${name}`
      const key = `${subject} ${metric}`
      const known = this.#measurements.get(key)
      if (known !== undefined) known.values.push(value)
      else this.#measurements.set(key, { subject, metric, unit: 'ms', better: 'lower', values: [value] })
    }
  }

  all(): Measurement[] {
    const bounds = Object.entries(BOUNDS).map(
      ([name, ms]): Measurement => ({
        subject: 'bound',
        metric: `me-${name}`,
        unit: 'ms',
        better: 'lower',
        values: [ms],
      }),
    )
    return [...this.#measurements.values(), ...bounds]
  }
}

/** Measures small uploads alone and beside large ones, to a server that only hashes, writes and syncs. */
async function plainUploads(options: RunOptions, values: Values): Promise<void> {
  const { seconds, uploads, uploadBytes } = SIZES[options.scale]
  const dir = join(options.dir, `plain-${Date.now()}`)
  await mkdir(dir)
  const service = await plain.start(dir)
  try {
    const call = service.upload('file')
    const small = { call, fileBytes: PROBE_BYTES }
    for (const [subject, crowd] of [
      ['limit-alone', null],
      ['limit-uploads', { call, clients: uploads, fileBytes: uploadBytes }],
    ] as const) {
      options.progress(subject)
      values.add(subject, 'upload', await beside(crowd, () => probe(small, seconds)))
    }
  } finally {
    await service.stop()
  }
}

export const fair: Bench = {
  name: 'fair',
  minutes: 8,
  rounds: 3,
  describe: scale => {
    const { lists, searches, uploads, uploadBytes, records } = SIZES[scale]
    return (
      'answer times of another account, and its uploads of 1 KiB, alone and beside crowds. ' +
      `The crowds are ${lists} clients that list 1,000 rows, ${searches} that search ${records.toLocaleString('en')} ` +
      `records, and ${uploads} that upload ${uploadBytes / 2 ** 20} MiB. The limit is a server that only writes and syncs`
    )
  },
  targets: [
    ...['lists', 'searches', 'uploads'].flatMap(subject =>
      Object.keys(BOUNDS).map(name => ({ subject, metric: `me-${name}`, against: 'bound', atLeast: 1 })),
    ),
    { subject: 'uploads', metric: 'upload-p50', against: 'limit-uploads', atLeast: 0.5 },
  ],
  async run(options) {
    const size = SIZES[options.scale]
    const values = new Values()
    const dir = join(options.dir, 'filled')
    await mkdir(dir)
    await withFilledServer(dir, size.records, async asked => {
      for (let round = 0; round < options.rounds; round++) {
        for (const [subject, crowd] of crowdsOf(asked, size)) {
          options.signal.throwIfAborted()
          options.progress(`round ${round + 1} of ${options.rounds}: ${subject}`)
          const small = { call: asked.upload, fileBytes: PROBE_BYTES }
          await beside(crowd, async () => {
            values.add(subject, 'me', await probe({ call: asked.me }, size.seconds))
            values.add(subject, 'upload', await probe(small, size.seconds))
          })
        }
        await plainUploads(options, values)
      }
    })
    return values.all()
  },
}
