import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import { CID } from 'multiformats/cid'
import { create as createDigest } from 'multiformats/hashes/digest'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { PrometheusMetrics } from '../../adapters/node-http/index.ts'
import { Egress } from '../../src/gateway/policy/account-egress.ts'
import { EgressCap, type FindPayers, type Payer } from '../../src/gateway/policy/egress-cap.ts'
import { domainsOf, EgressTally, type PaidBytes } from '../../src/gateway/policy/egress-tally.ts'
import { createEngine, type Engine, HoldfastError, SCOPES } from '../../src/index.ts'
import { CODEC } from '../../src/ipld/cid.ts'
import { identityBlock } from '../pins/fetches/support/dags.ts'
import { rawCid } from '../support/content-parts.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { planOf } from '../support/plans.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../support/postgres-server.ts'
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
  for (let i = 0; i < 100; i++) egress.report(1, [ROW])
  await clock.advance(4_000)
  await egress.stop()
  expect(store.add).toHaveBeenCalledTimes(1)
  expect(store.add.mock.calls[0]?.[0]).toEqual([{ holdId: 'hold 7', domain: 'a.example', bytes: 500 }])
})

test('a failed write is repeated, unless it may have happened', async () => {
  const { clock, egress, store } = egressOf()
  store.add.mockRejectedValueOnce(new HoldfastError('UNAVAILABLE', 'not now'))
  egress.report(1, [ROW])
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
    egress.report(1, [ROW])
    clock.advance(4_000)
  }
  await expect.poll(() => store.add).toHaveBeenCalledTimes(1)
  slow.resolve([])
  await expect.poll(() => clock.waiting).toBe(1)
  clock.advance(4_000)
  await egress.stop()
  expect(store.add.mock.calls.map(([rows]) => rows[0].bytes)).toEqual([5, 45])
})

test('a write waits for reads that have begun, later reads wait', async () => {
  const { clock, egress, store } = egressOf()
  const slow = Promise.withResolvers<never[]>()
  store.payersOf.mockReturnValueOnce(slow.promise)
  const first = egress.payersOf({ cid: cidOf(7), rootId: 7 })
  await expect.poll(() => store.payersOf).toHaveBeenCalledTimes(1)
  egress.report(1, [ROW])
  clock.advance(4_000)
  const second = egress.payersOf({ cid: cidOf(7), rootId: 7 })
  await new Promise(resolve => setImmediate(resolve))
  expect([store.add.mock.calls.length, store.payersOf.mock.calls.length]).toEqual([0, 1])
  slow.resolve([])
  await Promise.all([first, second])
  expect(store.add.mock.invocationCallOrder[0]).toBeLessThan(store.payersOf.mock.invocationCallOrder[1] ?? 0)
})

test('a tally has a limited number of rows and loses no bytes', () => {
  const reports: PaidBytes[][] = []
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

describe('a cap', () => {
  const content = (rootId: number) => ({ rootId, cid: cidOf(rootId) })
  const payer = (accountId: string, left: number | null): Payer => {
    if (left === null) return { accountId, left }
    const counter = new BigInt64Array(new SharedArrayBuffer(8))
    counter[0] = BigInt(left)
    return { accountId, left: counter }
  }
  const capOf = (...payers: Payer[]) => {
    const clock = new ManualClock()
    const find = vi.fn<FindPayers>(async () => payers)
    return { clock, find, cap: new EgressCap(clock, find) }
  }
  const refused = { code: 'RATE_LIMIT', details: { retryAfter: expect.any(Number) } }

  test('asks rarely, and allows content without an answer', async () => {
    const { clock, find, cap } = capOf(payer('one', 0))
    await expect(cap.payersOf(content(1))).rejects.toMatchObject(refused)
    await expect(cap.payersOf(content(1))).rejects.toMatchObject(refused)
    expect(find).toHaveBeenCalledTimes(1)
    clock.advance(10_000)
    find.mockRejectedValueOnce(new HoldfastError('UNAVAILABLE', 'not now'))
    expect((await cap.payersOf(content(1))).begin(5).payment).toEqual({ rootId: 1 })
    clock.advance(10_000)
    find.mockReturnValueOnce(new Promise(() => {}))
    const late = cap.payersOf(content(1))
    clock.advance(1_000)
    await late
    expect(clock.waiting).toBe(0)
    for (let root = 2; root < 10_002; root++) await cap.payersOf(content(root)).catch(() => undefined)
    await expect(cap.payersOf(content(1))).rejects.toMatchObject(refused)
  })

  test('lets the first account pay that has bytes left', async () => {
    const { cap } = capOf(payer('over', 0), payer('first', 9), payer('second', null))
    const payers = await cap.payersOf(content(1))
    const charges = [payers.begin(10), payers.begin(10)]
    expect(charges.map(({ payment }) => payment)).toEqual([{ accountId: 'first' }, { accountId: 'second' }])
    charges[0]?.end(8)
    expect([payers.begin(1), payers.begin(1)].map(({ payment }) => payment)).toEqual([
      { accountId: 'first' },
      { accountId: 'second' },
    ])
  })

  test('reserves 16 MiB for a stream, and again when these are sent', async () => {
    const stream = 16 * 1024 ** 2
    const one = payer('one', 2 * stream + 1)
    const { cap } = capOf(one)
    const payers = await cap.payersOf(content(1))
    const charge = payers.begin(null)
    expect(one.left?.[0]).toBe(BigInt(stream + 1))
    for (let sent = 0; sent < stream; sent += stream / 4) charge.sending?.(stream / 4)
    expect(one.left?.[0]).toBe(BigInt(stream + 1))
    charge.sending?.(1)
    expect(one.left?.[0]).toBe(1n)
    const last = payers.begin(null)
    expect(() => payers.begin(0)).toThrow(expect.objectContaining(refused))
    charge.end(stream + 1)
    last.end(3)
    expect(one.left?.[0]).toBe(BigInt(stream - 3))
  })
})

function cidOf(rootId: number): CID {
  return CID.createV1(0x55, createDigest(0x12, Buffer.from(String(rootId).padStart(32, '0'))))
}

const PLANS = {
  limited: planOf({ maxEgressBytes: 2 * CONTENT.length }),
  roomy: planOf({ maxEgressBytes: 1_000 }),
}

async function statusOf(engine: Pick<Engine, 'gateway'>, method: string, path: string): Promise<number> {
  const response = await engine.gateway(apiRequest(method, path))
  await readBody(response)
  return response.status
}

async function refusesBeyondThePlan({ engine, account, newAccount, restart }: TestEngine): Promise<void> {
  const limited = await newAccount('limited')
  const path = `/ipfs/${(await engine.pins.upload(CONTENT, { account: limited })).record.cid}`
  const other = `/ipfs/${(await engine.pins.upload(Buffer.from('other'), { account })).record.cid}`
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

/** The limited account was first with the file, and has another file in a directory. */
async function letsOthersPay({ engine, account, newAccount, clock }: TestEngine): Promise<void> {
  const limited = await newAccount('limited')
  const [inner, shared] = [Buffer.from('in a directory.'), Buffer.from('in directories.')]
  const files = [
    { kind: 'file' as const, path: 'inner.txt', content: inner },
    { kind: 'file' as const, path: 'shared.txt', content: shared },
  ]
  const directory = await engine.pins.uploadDirectory(files, { account: limited })
  await engine.pins.upload(CONTENT, { account: limited })
  clock.advance(1_000)
  const [own] = await Promise.all([CONTENT, inner].map(bytes => engine.pins.upload(bytes, { account })))
  await engine.pins.uploadDirectory(files.slice(1), { account })
  const paths = await Promise.all([CONTENT, inner, shared].map(async bytes => `/ipfs/${await rawCid(bytes)}`))
  const inDirectory = `/ipfs/${directory.record.cid}/inner.txt`
  const readers = await threadReaders(engine)
  for (let i = 0; i < 3; i++) {
    for (const path of paths) {
      expect([
        await statusOf(engine, 'GET', path),
        await statusOf({ gateway: engine.ownGateway }, 'GET', path),
      ]).toEqual([200, 200])
      expect((await readers.getFromAll(path)).map(({ status }) => status)).toEqual([200, 200])
    }
  }
  expect(await statusOf(engine, 'GET', inDirectory)).toBe(429)
  expect((await readers.get(inDirectory)).status).toBe(429)
  await engine.pins.remove(own?.record.cid ?? '', { account })
  clock.advance(10_000)
  expect(await statusOf(engine, 'HEAD', paths[0] ?? '')).toBe(429)
  expect(await statusOf(engine, 'HEAD', paths[1] ?? '')).toBe(200)
  await readers.stop()
}

/** Many requests at once exceed the limit by less than one response. */
async function exceedsByOneResponse({ engine, newAccount }: TestEngine): Promise<void> {
  const limited = await newAccount('limited')
  const bytes = Buffer.alloc(CONTENT.length - 1, 'a')
  const path = `/ipfs/${(await engine.pins.upload(bytes, { account: limited })).record.cid}`
  const readers = await threadReaders(engine)
  const statuses = await Promise.all(
    Array.from({ length: 30 }, async (_, i) => {
      if (i % 3 === 0) return (await readers.get(path)).status
      return statusOf(i % 3 === 1 ? engine : { gateway: engine.ownGateway }, 'GET', path)
    }),
  )
  expect(statuses.filter(status => status === 200).length).toBe(3)
  expect(statuses.filter(status => status === 429).length).toBe(27)
  await readers.stop()
}

/** A CAR of unknown length reserves more than the limit. */
async function givesBack({ engine, newAccount }: TestEngine): Promise<void> {
  const path = `/ipfs/${(await engine.pins.upload(CONTENT, { account: await newAccount('roomy') })).record.cid}?format=car`
  const first = await engine.gateway(apiRequest('GET', path))
  expect(await statusOf(engine, 'GET', path)).toBe(429)
  await readBody(first)
  expect(await statusOf(engine, 'GET', path)).toBe(200)
}

/** The private content of an account is that of a stranger's public record, whose account has spent its limit. */
async function paysForItsOwnReads({ engine, account, newAccount }: TestEngine): Promise<void> {
  const spent = await newAccount('limited')
  const path = `/ipfs/${(await engine.pins.upload(CONTENT, { account: spent })).record.cid}`
  await engine.pins.upload(CONTENT, { account, visibility: 'private' })
  const { secret } = await engine.keys.create(account, { name: 'own', scopes: ['files:read'] })
  const ask = async (headers: Record<string, string> = {}): Promise<number> => {
    const response = await engine.gateway(apiRequest('GET', path, headers))
    await readBody(response)
    return response.status
  }
  const own = { authorization: `Bearer ${secret}` }
  expect(await ask(own)).toBe(200)
  expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429])
  // The private holder has no limit, but pays only for its own reads.
  expect([await ask(own), await ask()]).toEqual([200, 429])
}

async function paysBelowIdentityRoots({ engine, newAccount }: TestEngine): Promise<void> {
  await engine.pins.upload(CONTENT, { account: await newAccount('limited') })
  const unixfs = new UnixFS({ type: 'directory' }).marshal()
  const links = [{ Name: 'file', Tsize: CONTENT.length, Hash: await rawCid(CONTENT) }]
  const { cid } = identityBlock(CODEC.dagPb, dagPb.encode({ Data: unixfs, Links: links }))
  const statuses: number[] = []
  for (let i = 0; i < 3; i++) statuses.push(await statusOf(engine, 'GET', `/ipfs/${cid}/file`))
  expect(statuses).toEqual([200, 200, 429])
}

/** A thread ends while it sends more than the limit. */
async function releasesWhatAThreadTook({ engine, newAccount }: TestEngine): Promise<void> {
  const account = await newAccount('roomy')
  const pathOf = async (bytes: Buffer): Promise<string> =>
    `/ipfs/${(await engine.pins.upload(bytes, { account })).record.cid}`
  const [large, small] = [await pathOf(Buffer.alloc(32 * 1024 ** 2)), await pathOf(CONTENT)]
  const readers = await threadReaders(engine, { threads: 1 })
  const reading = get({ port: readers.port, path: large, agent: false })
  const [response] = (await once(reading, 'response')) as [IncomingMessage]
  try {
    expect(await statusOf(engine, 'GET', small)).toBe(429)
    await readers.get('/', { 'x-wish': 'end' }).catch(() => undefined)
    await expect.poll(() => statusOf(engine, 'GET', small)).toBe(200)
    await readers.getFromAll('/')
    expect((await readers.get(small)).status).toBe(200)
  } finally {
    // Otherwise the engine waits for the readers, and a failure of the test never ends.
    response.on('error', () => undefined).destroy()
    await readers.stop()
  }
}

const CAPS: ReadonlyArray<[string, (engine: TestEngine) => Promise<void>]> = [
  ['content beyond its plan is 429 in each thread', refusesBeyondThePlan],
  ["another account's limit refuses no content of yours", letsOthersPay],
  ['requests at once exceed a plan by less than one response', exceedsByOneResponse],
  ['a response gives back the bytes that it did not send', givesBack],
  ['a thread that ends gives back what it has reserved', releasesWhatAThreadTook],
  ['content below an identity root is paid as without it', paysBelowIdentityRoots],
  ['an account pays for reads of its private content, and for no others', paysForItsOwnReads],
]

test.each(CAPS)('with SQLite, %s', async (_, run) => {
  await withEngine(run, { plans: PLANS })
})

describe('with PostgreSQL', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  test.each(CAPS)('%s', async (_, run) => {
    await withEngine(run, { database: await server.migrated(), plans: PLANS })
  })
})

function egressOf() {
  logger.warn.mockClear()
  const clock = new ManualClock()
  const store = { add: vi.fn(async () => []), read: vi.fn(async () => []), payersOf: vi.fn(async () => [] as never[]) }
  const holdOf = (rootId: number): string => `hold ${rootId}`
  const add = store.add as unknown as ReturnType<typeof vi.fn>
  return {
    clock,
    egress: new Egress({
      store,
      holdOf,
      rootsOf: ({ rootId }) => [rootId],
      mostOf: () => null,
      clock,
      logger,
      metrics: {},
    }),
    store: { ...store, add },
  }
}
