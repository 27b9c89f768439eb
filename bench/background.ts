import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import type { ChildServer } from './child-server.ts'
import { HealthWatch } from './health-watch.ts'
import { filledStore } from './list/filled-engine.ts'
import { LoadedServer } from './loaded-server.ts'
import { cidOfFile } from './services/filled.ts'
import { startStandalone } from './services/holdfast.ts'
import { writeTakedowns } from './takedowns.ts'

interface Size {
  records: number
  takedowns: number
  events: number
  /** Time for which work without an end is watched. */
  seconds: number
}

const SIZES: Readonly<Record<Scale, Size>> = {
  full: { records: 1e6, takedowns: 1e5, events: 2_000, seconds: 60 },
  quick: { records: 1e5, takedowns: 1e5, events: 500, seconds: 15 },
  tiny: { records: 300, takedowns: 200, events: 10, seconds: 0.5 },
}
/** In ms. Nobody should wait longer for work in the background. */
const BOUND_MS = 50
const TAKEDOWNS = 20
const SETTLED_MS = 2_000

interface Filled {
  dir: string
  account: string
  cid: string
  size: Size
  /** Taken down by the first work, lifted by the next one. */
  doomed: readonly string[]
}

interface Work {
  subject: string
  config?(filled: Filled, use: { receiver: string; routers: readonly string[] }): object
  run(server: LoadedServer, filled: Filled, use: { receiver: string }): Promise<void>
}

const WORKS: readonly Work[] = [
  { subject: 'idle', run: (_, { size }) => sleep(size.seconds * 100) },
  {
    subject: 'takedown',
    run: (server, { doomed }) => server.call('POST', '/admin/v1/takedowns', { cid: doomed[0], reason: 'bench' }),
  },
  {
    subject: 'takedowns',
    run: async (server, { doomed }) => {
      const add = (cid: string) => server.call('POST', '/admin/v1/takedowns', { cid, reason: 'bench' })
      await Promise.all(doomed.slice(1).map(add))
    },
  },
  {
    subject: 'lifts',
    run: async (server, { doomed }) =>
      void (await Promise.all(doomed.map(cid => server.call('DELETE', `/admin/v1/takedowns/${cid}`)))),
  },
  {
    subject: 'backup',
    config: ({ dir }) => ({ backupRoots: [join(dir, '..')] }),
    run: (server, { dir }) => server.call('POST', '/admin/v1/backup', { directory: join(dir, '..', 'backup') }),
  },
  {
    subject: 'reconcile',
    run: async (server, { dir }) => {
      await dropFromCache(join(dir, 'holdfast.db'))
      await server.call('POST', '/admin/v1/reconcile', { dryRun: true })
    },
  },
  {
    subject: 'webhooks',
    config: () => ({ webhooks: { allowPrivate: true } }),
    run: async (server, { cid, size }, { receiver }) => {
      await server.call('POST', '/api/v3/webhooks', { url: receiver })
      for (let event = 0; event < size.events; event++) {
        await server.call('POST', `/api/v3/files/pin/${cid}`, { customName: `name ${event}` })
      }
    },
  },
  {
    subject: 'announcements',
    config: (_, { routers }) => ({ network: { enabled: true, dht: 'server', peers: routers } }),
    run: (_, { size }) => sleep(size.seconds * 1_000),
  },
  {
    subject: 'removal',
    run: async (server, { account, size }) => {
      await server.call('DELETE', `/admin/v1/accounts/${account}`)
      await sleep(size.seconds * 1_000)
    },
  },
]

/** Makes the next reads of a file wait for the disk. */
async function dropFromCache(file: string): Promise<void> {
  await promisify(execFile)('dd', [`of=${file}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0'])
}

/** Runs some work with a receiver of webhooks and with two nodes that route in a DHT. */
async function withOthers<T>(dir: string, use: (others: { receiver: string; routers: string[] }) => Promise<T>) {
  const receiver = createServer((request, response) => request.resume().once('end', () => response.end()))
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
  const servers: ChildServer[] = []
  const routers: string[] = []
  try {
    for (const name of ['router-a', 'router-b']) {
      const own = join(dir, name)
      await mkdir(own)
      const config = join(dir, `${name}.json`)
      await writeFile(config, JSON.stringify({ network: { enabled: true, dht: 'server', peers: routers } }))
      const { server } = await startStandalone(own, { config })
      servers.push(server)
      routers.push(await server.said(/^peer address +(\S+)$/))
    }
    return await use({ receiver: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`, routers })
  } finally {
    receiver.close()
    for (const server of servers) await server.stop()
  }
}

async function run(options: RunOptions): Promise<Measurement[]> {
  const { progress, scale, signal } = options
  const size = SIZES[scale]
  const dir = join(options.dir, 'data')
  await mkdir(dir)
  progress(`${size.records} records`)
  const { engine, account, parent: cid } = await filledStore(dir, size.records, 1)
  const other = await engine.accounts.create({ email: 'other@example.org', plan: 'unlimited' })
  const { secret } = await engine.keys.create(other.id, { name: 'probe' })
  await engine.stop()
  await writeTakedowns(dir, size.takedowns)
  const doomed = Array.from({ length: TAKEDOWNS + 1 }, () => cidOfFile(randomBytes(16)))
  const filled = { dir, account, cid, size, doomed }
  const lower = { unit: 'ms', better: 'lower' } as const
  const measurements: Measurement[] = [{ ...lower, subject: 'bound', metric: 'longest-wait', values: [BOUND_MS] }]
  await withOthers(options.dir, async others => {
    for (const { subject, config, run } of WORKS) {
      signal.throwIfAborted()
      const file = join(options.dir, `${subject}.json`)
      await writeFile(file, JSON.stringify(config?.(filled, others) ?? {}))
      const server = await LoadedServer.start(dir, file)
      const headers = { authorization: `Bearer ${secret}` }
      const watch = new HealthWatch(server.url, { paths: ['/api/v3/users/me'], headers })
      try {
        await sleep(SETTLED_MS)
        progress(`${subject}: measuring`)
        const began = performance.now()
        const { longestMs, ownMs } = await watch.during(() => run(server, filled, others))
        const seconds = (performance.now() - began) / 1_000
        progress(`${subject}: ${longestMs.toFixed(1)} ms in ${seconds.toFixed(1)} s`)
        measurements.push({ ...lower, subject, metric: 'longest-wait', values: [longestMs] })
        measurements.push({ ...lower, subject, metric: 'own-delay', values: [ownMs] })
        measurements.push({ ...lower, subject, metric: 'work', unit: 's', values: [seconds] })
      } finally {
        await watch.stop()
        await server.stop()
      }
    }
  })
  return measurements
}

/** Measures how long work in the background delays another account. */
export const background: Bench = {
  name: 'background',
  minutes: 10,
  isOnce: true,
  describe: scale => {
    const { records, takedowns, events, seconds } = SIZES[scale]
    const [many, list, some] = [records, takedowns, events].map(count => count.toLocaleString('en'))
    return (
      `longest wait for another account's users/me at ${many} records. The server is idle; ` +
      `adds and lifts up to ${TAKEDOWNS} takedowns beside ${list}; writes a backup; reconciles from a cold disk. ` +
      `It sends ${some} webhooks, announces for ${seconds} s, and removes the account for as long`
    )
  },
  targets: WORKS.map(({ subject }) => ({ subject, metric: 'longest-wait', against: 'bound', atLeast: 1 })),
  run,
}
