import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { PrometheusMetrics } from '../../adapters/node-http/index.ts'
import { Egress } from '../../src/gateway/policy/account-egress.ts'
import { EgressCap } from '../../src/gateway/policy/egress-cap.ts'
import { domainsOf, EgressTally, type RootBytes } from '../../src/gateway/policy/egress-tally.ts'
import { createEngine, type Engine, HoldfastError, SCOPES } from '../../src/index.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { planOf } from '../support/plans.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../support/postgres-server.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'
import { threadReaders } from '../support/thread-readers.ts'
import { apiRequest, readBody } from './client.ts'

const CONTENT = Buffer.from('read by threads')
const ROW = { rootId: 7, domain: 'a.example', bytes: 5 }
const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }

async function json(engine: Engine, path: string, secret: string) {
  const response = await engine.api(apiRequest('GET', path, { authorization: `Bearer ${secret}` }))
  return JSON.parse((await readBody(response)).bytes.toString())
}

test('traffic of all threads counts for the account of the oldest record', async () => {
  await withTempDir(async dataDir => {
    const metrics = new PrometheusMetrics()
    const config = { dataDir, gateway: { host: 'gw.example' } }
    const first = await createEngine({ ...config, metrics })
    const { account } = await first.accounts.ensureOwner()
    const { secret } = await first.keys.create(account.id, { name: 'all', scopes: SCOPES })
    const later = await first.accounts.create({ email: 'later@example.org', plan: 'free' })
    const { record } = await first.pins.upload(CONTENT, { account: account.id })
    await first.pins.upload(CONTENT, { account: later.id })
    const path = `/ipfs/${record.cid}`
    const readers = await threadReaders(first, { threads: 2 }, true)
    const reads = 12
    for (let i = 0; i < reads; i++) await readers.get(path)
    expect((await readers.get(`${path}/nothing`)).status).toBe(404)
    await readBody(await first.gateway(apiRequest('GET', '/', { host: `${record.cid}.ipfs.gw.example` })))
    const { headers } = await first.gateway(apiRequest('HEAD', path))
    await readBody(await first.gateway(apiRequest('GET', path, { 'if-none-match': headers.etag ?? '' })))
    await readBody(await first.gateway(apiRequest('GET', path, { range: 'bytes=0-3' })))
    await readers.stop()
    await first.stop()
    const second = await createEngine(config)
    const month = new Date().toISOString().slice(0, 7)
    const { egress } = await json(second, '/api/v3/users/me', secret)
    await second.stop()
    const named = { domain: 'gw.example', bytes: CONTENT.length }
    const other = { domain: 'other', bytes: reads * CONTENT.length + 4 }
    expect(egress).toEqual({ month, bytes: named.bytes + other.bytes, domains: [named, other] })
    const line = (domain: string, outcome: string) => `gateway_bytes_total{domain="${domain}",outcome="${outcome}"} `
    expect(metrics.text()).toContain(`${line('gw.example', 'counted')}${named.bytes}\n`)
    expect(metrics.text()).toContain(`${line('other', 'counted')}${other.bytes}\n`)
    // The error page.
    expect(metrics.text()).toMatch(new RegExp(`${line('other', 'uncounted')}[1-9]`))
  })
})

test('many requests for a root become one row of one write', async () => {
  const { clock, egress, store } = egressOf()
  for (let i = 0; i < 100; i++) egress.add([ROW])
  await clock.advance(4_000)
  await egress.stop()
  expect(store.add).toHaveBeenCalledTimes(1)
  expect(store.add.mock.calls[0]?.[0]).toEqual([{ holdId: 'hold 7', domain: 'a.example', bytes: 500 }])
})

test('a failed write is repeated, unless it may have happened', async () => {
  const { clock, egress, store } = egressOf()
  store.add.mockRejectedValueOnce(new HoldfastError('UNAVAILABLE', 'not now'))
  egress.add([ROW])
  clock.advance(4_000)
  await expect.poll(() => logger.warn).toHaveBeenCalledTimes(1)
  store.add.mockRejectedValueOnce(new HoldfastError('OUTCOME_UNKNOWN', 'perhaps'))
  clock.advance(4_000)
  await expect.poll(() => logger.warn).toHaveBeenCalledTimes(2)
  expect(store.add.mock.calls[1]).toEqual([store.add.mock.calls[0]?.[0], expect.anything()])
  await egress.stop()
  expect(store.add).toHaveBeenCalledTimes(2)
})

test('a slow write delays the next report', async () => {
  const { clock, egress, store } = egressOf()
  const slow = Promise.withResolvers<never[]>()
  store.add.mockReturnValueOnce(slow.promise)
  for (let i = 0; i < 10; i++) {
    egress.add([ROW])
    clock.advance(4_000)
  }
  expect(store.add).toHaveBeenCalledTimes(1)
  slow.resolve([])
  await expect.poll(() => clock.waiting).toBe(1)
  clock.advance(4_000)
  await egress.stop()
  expect(store.add.mock.calls.map(([rows]) => rows[0].bytes)).toEqual([5, 45])
})

test('a tally has a limited number of rows and loses no bytes', () => {
  const reports: RootBytes[][] = []
  const tally = new EgressTally(new ManualClock(), 1_000, async rows => void reports.push(rows))
  for (let rootId = 0; rootId < 10_100; rootId++) tally.count({ ...ROW, rootId })
  void tally.report()
  expect(reports[0]?.length).toBe(10_001)
  expect(reports[0]?.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(5 * 10_100)
  expect(reports[0]?.at(-1)).toEqual({ ...ROW, rootId: null, bytes: 500 })
})

test('clients cannot add domains', () => {
  const domainOf = domainsOf({ host: 'gw.example', publicUrl: 'https://Content.example:8443/x' })
  const hosts = [
    'bafy.ipfs.GW.example:8080',
    'gw.example',
    'content.example:8443',
    'evil.example',
    'xgw.example',
    undefined,
  ]
  expect(hosts.map(domainOf)).toEqual(['gw.example', 'gw.example', 'content.example', 'other', 'other', 'other'])
  expect(domainsOf({})('gw.example')).toBe('other')
})

test('a cap asks rarely, and allows content without an answer', async () => {
  const clock = new ManualClock()
  const waitOf = vi.fn(async (): Promise<number | null> => 60)
  const cap = new EgressCap(clock, waitOf)
  const refused = { code: 'RATE_LIMIT', details: { retryAfter: 60 } }
  await expect(cap.check(1)).rejects.toMatchObject(refused)
  await expect(cap.check(1)).rejects.toMatchObject(refused)
  expect(waitOf).toHaveBeenCalledTimes(1)
  clock.advance(10_000)
  waitOf.mockRejectedValueOnce(new HoldfastError('UNAVAILABLE', 'not now'))
  await cap.check(1)
  clock.advance(10_000)
  waitOf.mockReturnValueOnce(new Promise(() => {}))
  const late = cap.check(1)
  clock.advance(1_000)
  await late
  expect(clock.waiting).toBe(0)
  for (let root = 2; root < 10_002; root++) await cap.check(root).catch(() => undefined)
  await expect(cap.check(1)).rejects.toMatchObject(refused)
})

const LIMITED = { ...planOf({ maxEgressBytes: 2 * CONTENT.length }) }

async function refusesBeyondThePlan({ engine, account, newAccount, restart }: TestEngine): Promise<void> {
  const limited = await newAccount('limited')
  const path = `/ipfs/${(await engine.pins.upload(CONTENT, { account: limited })).record.cid}`
  const other = `/ipfs/${(await engine.pins.upload(Buffer.from('other'), { account })).record.cid}`
  const statusOf = async (engine: Engine, method: string, path: string): Promise<number> => {
    const response = await engine.gateway(apiRequest(method, path))
    await readBody(response)
    return response.status
  }
  expect([await statusOf(engine, 'GET', path), await statusOf(engine, 'GET', path)]).toEqual([200, 200])
  const second = await restart()
  const response = await second.gateway(apiRequest('GET', path))
  expect(JSON.parse((await readBody(response)).bytes.toString())).toMatchObject({ code: 'RATE_LIMIT' })
  // The clock of the engine stands at the begin of January.
  expect(response).toMatchObject({ status: 429, headers: { 'retry-after': String(31 * 86_400) } })
  expect(await statusOf(second, 'HEAD', path)).toBe(429)
  expect(await statusOf(second, 'GET', other)).toBe(200)
  const readers = await threadReaders(second)
  expect((await readers.get(path)).status).toBe(429)
  expect((await readers.get(other)).status).toBe(200)
  await readers.stop()
  await second.accounts.setPlan(limited, 'unlimited')
  expect(await statusOf(await restart(), 'GET', path)).toBe(200)
}

test('with SQLite, content beyond its plan is 429 in each thread', async () => {
  await withEngine(refusesBeyondThePlan, { plans: { limited: LIMITED } })
})

describe('with PostgreSQL', needsPostgres, () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.stop())

  test('content beyond its plan is 429 in each thread', async () => {
    await withEngine(refusesBeyondThePlan, { database: await server.fresh(), plans: { limited: LIMITED } })
  })
})

function egressOf() {
  logger.warn.mockClear()
  const clock = new ManualClock()
  const store = { add: vi.fn(async () => []), read: vi.fn(async () => []), ownerOf: vi.fn(async () => null) }
  const holdOf = (rootId: number): string => `hold ${rootId}`
  const add = store.add as unknown as ReturnType<typeof vi.fn>
  return {
    clock,
    egress: new Egress({ store, holdOf, mostOf: () => null, clock, logger, metrics: {} }),
    store: { ...store, add },
  }
}
