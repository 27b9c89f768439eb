import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { PrometheusMetrics, startReaders } from '../../../adapters/node-http/index.ts'
import { postgres } from '../../../adapters/postgres/index.ts'
import { createEngine, type Engine, type EngineConfig, type Logger } from '../../../src/index.ts'
import { carOf } from '../../content/car/support/cars.ts'
import { randomFile } from '../../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { newDirectory } from '../../support/new-database.ts'
import { needsPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { beginReading, type ThreadReaders, threadReaders } from '../../support/thread-readers.ts'

const MIB = 1024 ** 2

interface Served {
  engine: Engine
  account: string
  readers: ThreadReaders
  metrics: PrometheusMetrics
  lines: Array<{ message: string; path?: string }>
}

/** Runs with an engine whose gateway is served by two threads. */
function served(
  run: (served: Served) => Promise<void>,
  { threads = 2, sharesPort = true, ...config }: EngineConfig & { threads?: number; sharesPort?: boolean } = {},
): Promise<void> {
  return withTempDir(async dataDir => {
    const lines: Served['lines'] = []
    const keep = (fields: object, message: string): void => void lines.push({ ...fields, message })
    const logger: Logger = { debug: keep, info: keep, warn: keep, error: keep }
    const metrics = new PrometheusMetrics()
    const engine = await createEngine({
      catalogue: postgres,
      ...config,
      dataDir: newDirectory(dataDir),
      singleUser: true,
    })
    const readers = await threadReaders(engine, { threads, logger, metrics }, sharesPort)
    try {
      const { account } = await engine.accounts.ensureOwner()
      await run({ engine, account: account.id, readers, metrics, lines })
    } finally {
      await readers.stop()
      await engine.stop()
    }
  })
}

/** Returns the rest of the answer, and whether it broke off. */
async function rest(answer: IncomingMessage): Promise<{ bytes: Buffer; isBroken: boolean }> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of answer) chunks.push(chunk as Buffer)
    return { bytes: Buffer.concat(chunks), isBroken: false }
  } catch {
    return { bytes: Buffer.concat(chunks), isBroken: true }
  }
}

/** Counts what so many connections that are made at once get: a status, or the code of an error. */
async function outcomes(port: number, count: number): Promise<Record<string, number>> {
  const outcome = (): Promise<string> =>
    new Promise(resolve => {
      const asked = http.get({ host: '127.0.0.1', port, path: '/ipfs/bafkqaaa', agent: false })
      asked.on('response', answer => resolve(String(answer.resume().statusCode)))
      asked.on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)))
    })
  const counts: Record<string, number> = {}
  for (const one of await Promise.all(Array.from({ length: count }, outcome))) counts[one] = (counts[one] ?? 0) + 1
  return counts
}

const statuses = async (readers: ThreadReaders, path: string): Promise<number[]> =>
  (await readers.getFromAll(path)).map(({ status }) => status)

describe('threads that read', () => {
  test('serve pinned content, and refuse it once it is removed', async () => {
    await served(async ({ engine, readers, metrics, lines }) => {
      const { record } = await engine.pins.upload(Buffer.from('read by threads'))
      const path = `/ipfs/${record.cid}`
      const answers = await readers.getFromAll(path)
      expect(answers.map(({ text }) => text)).toEqual(['read by threads', 'read by threads'])
      await engine.pins.remove({ cid: record.cid })
      expect(await statuses(readers, path)).toEqual([404, 404])
      // Requests of both threads count as of one.
      const told = () => lines.filter(line => line.message === 'request' && line.path === path).length
      await expect.poll(told).toBeGreaterThanOrEqual(4)
      const counted = () =>
        Number(/^holdfast_requests_total\{surface="gateway".*status="404".*\} (\d+)$/m.exec(metrics.text())?.[1])
      await expect.poll(counted).toBeGreaterThanOrEqual(2)
      expect(metrics.text()).toMatch(/holdfast_sent_bytes_total\{surface="gateway"\} [1-9]/)
    })
  })

  test('take over from the main thread unnoticed by its clients', async () => {
    await withTempDir(async dataDir => {
      const engine = await createEngine({ dataDir: newDirectory(dataDir), singleUser: true })
      const readers = await startReaders(engine, { threads: 2 })
      try {
        const { record } = await engine.pins.upload(Buffer.from('read meanwhile'))
        const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
        const ask = async (by: http.Agent | false): Promise<IncomingMessage> => {
          const asked = http.get({ host: '127.0.0.1', port: readers.port, path: `/ipfs/${record.cid}`, agent: by })
          const [answer] = (await once(asked, 'response')) as [IncomingMessage]
          answer.resume()
          await once(answer, 'end')
          return answer
        }
        let isLeft = false
        const others = (async () => {
          for (let more = 20; more > 0; isLeft && more--) {
            const answers = await Promise.all(Array.from({ length: 8 }, () => ask(false)))
            expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(8).fill(200))
          }
        })()
        while ((await ask(agent)).headers.connection !== 'close') await sleep(1)
        isLeft = true
        await others
        expect((await ask(agent)).statusCode).toBe(200)
        agent.destroy()
      } finally {
        await readers.stop(1_000)
        await engine.stop()
      }
    })
  })

  test('answer a connection that arrives as soon as the port is open', async () => {
    await withTempDir(async dataDir => {
      const engine = await createEngine({ dataDir: newDirectory(dataDir), singleUser: true })
      const asked: Promise<Record<string, number>>[] = []
      const { emit } = http.Server.prototype
      http.Server.prototype.emit = function (this: http.Server, event: string, ...given: unknown[]) {
        if (event === 'listening') asked.push(outcomes((this.address() as AddressInfo).port, 1))
        return Reflect.apply(emit, this, [event, ...given])
      } as typeof emit
      const readers = await startReaders(engine, { threads: 1 })
      try {
        expect(await Promise.all(asked)).toEqual([{ 200: 1 }])
      } finally {
        http.Server.prototype.emit = emit
        await readers.stop(1_000)
        await engine.stop()
      }
    })
  })

  test('answer every connection that a stopping port has accepted', async () => {
    await withTempDir(async dataDir => {
      const engine = await createEngine({ dataDir: newDirectory(dataDir), singleUser: true })
      const readers = await startReaders(engine, { threads: 0 })
      try {
        const asked = outcomes(readers.port, 200)
        await sleep(20)
        await readers.stop(10_000)
        const { 200: answered = 0, ECONNREFUSED: refused = 0, ...others } = await asked
        expect([answered + refused, others]).toEqual([200, {}])
        expect(answered).toBeGreaterThan(0)
      } finally {
        await readers.stop(0)
        await engine.stop()
      }
    })
  })

  const tellsOfFetches = (config: EngineConfig): Promise<void> =>
    served(async ({ engine, account, readers }) => {
      const file = randomFile(4, 50_000, 'on its way')
      const car = await carOf([file.root], [...file.blocks.slice(0, 1), ...file.blocks.slice(3)])
      await engine.pins.importCar(car, { account, allowPartial: true })
      expect(await statuses(readers, `/ipfs/${file.root}`)).toEqual([503, 503])
      expect(await statuses(readers, `/ipfs/${randomFile(1, 2_000, 'nobody has it').root}`)).toEqual([404, 404])
    }, config)

  test('report a fetch in progress', () => tellsOfFetches({}))

  test('report a fetch in progress with PostgreSQL', needsPostgres, async () => {
    const server = await sharedPostgres()
    try {
      await tellsOfFetches({ database: await server.migrated() })
    } finally {
      await server.stop()
    }
  })

  test('refuse content once it is taken down, even during an answer', async () => {
    await served(async ({ engine, readers }) => {
      const { record } = await engine.pins.upload(pseudoRandom(24 * MIB))
      const path = `/ipfs/${record.cid}`
      const under = await beginReading(readers, path)
      await engine.takedowns.add({ cid: record.cid, reason: 'a test' })
      expect(await statuses(readers, path)).toEqual([410, 410])
      const { bytes, isBroken } = await rest(under)
      expect(isBroken).toBe(true)
      expect(bytes.length).toBeLessThan(24 * MIB)
      await engine.takedowns.remove({ cid: record.cid })
      expect(await statuses(readers, path)).toEqual([200, 200])
    })
  })

  test('lease content against the collector while they read it', async () => {
    await served(async ({ engine, readers }) => {
      const content = pseudoRandom(24 * MIB, 'collected')
      const { record } = await engine.pins.upload(content)
      const under = await beginReading(readers, `/ipfs/${record.cid}`)
      await engine.pins.remove({ cid: record.cid })
      expect(await engine.collect({ graceSeconds: 0 })).toMatchObject({ roots: 0, blocks: 0 })
      const { bytes, isBroken } = await rest(under)
      expect([isBroken, bytes.equals(content)]).toEqual([false, true])
      await expect.poll(async () => (await engine.collect({ graceSeconds: 0 })).roots).toBe(1)
    })
  })

  test('have equal parts of the slots of one gateway', async () => {
    await served(
      async ({ engine, readers }) => {
        const { record } = await engine.pins.upload(pseudoRandom(24 * MIB, 'places'))
        const path = `/ipfs/${record.cid}`
        const slow = await beginReading(readers, path)
        let isFree = false
        const second = beginReading(readers, path).then(answer => ({ answer, wasFree: isFree }))
        // The gateway of the API has a slot of its own.
        const { status } = await engine.gateway({
          ...{ method: 'HEAD', path, query: '', header: () => undefined, body: (async function* () {})() },
          ...{ signal: new AbortController().signal, remoteAddress: '127.0.0.1' },
        })
        await new Promise(resolve => setTimeout(resolve, 300))
        isFree = true
        slow.destroy()
        const { answer, wasFree } = await second
        expect([status, answer.statusCode, wasFree]).toEqual([200, 200, true])
        answer.destroy()
      },
      { threads: 1, gateway: { maxConcurrentRequests: 2 } },
    )
  })

  test.concurrent('end answers at a timelock, and serve nothing after it', async ({ expect }) => {
    await served(async ({ engine, readers }) => {
      const ends = Date.now() + 10_000
      const { record } = await engine.pins.upload(pseudoRandom(24 * MIB, 'locked'), {
        timelock: new Date(ends).toISOString(),
      })
      const path = `/ipfs/${record.cid}`
      const under = await beginReading(readers, path)
      expect(under.statusCode).toBe(200)
      await expect.poll(() => Date.now()).toBeGreaterThan(ends)
      expect(await statuses(readers, path)).toEqual([404, 404])
      expect((await rest(under)).isBroken).toBe(true)
    })
  })

  test.concurrent('are replaced if they end or hang, and their slots are free', async ({ expect }) => {
    await served(async ({ engine, readers }) => {
      const { record } = await engine.pins.upload(pseudoRandom(24 * MIB, 'replaced'))
      const path = `/ipfs/${record.cid}`
      const names = async (): Promise<string[]> =>
        (await readers.getFromAll('/')).map(answer => answer.header('x-thread') ?? '')
      for (const wish of ['end', 'hang']) {
        const before = await names()
        // An interrupted answer of either thread leaves no lease behind.
        const under = await Promise.all([
          beginReading(readers, path),
          beginReading(readers, path),
          beginReading(readers, path),
        ])
        const broken = readers.get('/', { 'x-wish': wish })
        await expect(broken).rejects.toThrow()
        await expect.poll(async () => (await names()).some(name => !before.includes(name))).toBe(true)
        for (const answer of under) answer.destroy()
      }
      await engine.pins.remove({ cid: record.cid })
      await expect.poll(async () => (await engine.collect({ graceSeconds: 0 })).roots).toBe(1)
    })
  })

  test('are one if a port cannot be shared', async () => {
    await served(
      async ({ engine, readers }) => {
        const { record } = await engine.pins.upload(Buffer.from('one'))
        expect((await readers.get(`/ipfs/${record.cid}`)).text).toBe('one')
      },
      { threads: 1, sharesPort: false },
    )
  })
})
