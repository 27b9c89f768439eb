import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastify from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { holdfast } from '../../../adapters/fastify/index.ts'
import { createServer, type HandlerOptions, PrometheusMetrics } from '../../../adapters/node-http/index.ts'
import { createEngine, type Engine, SCOPES } from '../../../src/index.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needs, needsLinux } from '../../support/needs.ts'
import { newDirectory } from '../../support/new-database.ts'

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
/** Missing content, and an unreachable peer. */
const ELSEWHERE = 'bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm'
const ALSO_ELSEWHERE = 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku'
const NOBODY = '12D3KooWQYhTNQdmr3ArTeUHRYzFg94BKyTkoWBDWez9kSCVe2Xo'

let engine: Engine
let clock: ManualClock
let metrics: PrometheusMetrics
let secret: string
let account: string
const closers: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-metrics-'))
  clock = new ManualClock()
  metrics = new PrometheusMetrics()
  engine = await createEngine({ dataDir: newDirectory(dataDir), clock, metrics })
  closers.push(
    () => rm(dataDir, { recursive: true, force: true }),
    () => engine.stop(),
  )
  account = (await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })).id
  secret = (await engine.keys.create(account, { name: 'main', scopes: SCOPES })).secret
})

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function listen(options: HandlerOptions = { metrics }): Promise<string> {
  const server: Server = createServer(engine, options).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(async () => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

/** Returns the samples by name and labels; fails for an invalid line. */
async function samples(url: string, headers: Record<string, string> = {}): Promise<Map<string, number>> {
  const answer = await fetch(`${url}/metrics`, { headers })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toContain('version=0.0.4')
  const found = new Map<string, number>()
  const declared = new Set<string>()
  for (const line of (await answer.text()).trimEnd().split('\n')) {
    const [, type] = /^# TYPE (\S+) (?:counter|gauge|histogram|summary)$/.exec(line) ?? []
    if (type !== undefined) declared.add(type)
    if (line.startsWith('#')) continue
    const [, name = '', labels = '', value] =
      /^([a-z_]+)(\{(?:[a-z]+="[^"]*",?)+\})? (\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.exec(line) ?? []
    expect(value, line).toBeDefined()
    expect(declared.has(name.replace(/_(bucket|sum|count)$/, '')) || declared.has(name), line).toBe(true)
    found.set(name + labels, Number(value))
  }
  return found
}

async function upload(url: string, content: string): Promise<string> {
  const body = new FormData()
  body.append('file', new Blob([content]))
  const answer = await fetch(`${url}/api/v3/files`, { method: 'POST', headers: { 'x-api-key': secret }, body })
  return ((await answer.json()) as { cid: string }).cid
}

describe('metrics', () => {
  test('count requests by route and status, and bytes both ways', async () => {
    const url = await listen()
    const cid = await upload(url, 'x'.repeat(5_000))
    await (await fetch(`${url}/ipfs/${cid}`)).text()
    await (await fetch(`${url}/api/v3/nothing`)).text()
    await (await fetch(`${url}/api/v3/users/me`, { headers: { 'x-request-source': 'web' } })).text()
    const found = await samples(url)
    const request = (labels: string): number | undefined => found.get(`holdfast_requests_total{${labels}}`)
    const at = (surface: string, method: string, route: string, status: number, source: string): string =>
      `surface="${surface}",method="${method}",route="${route}",status="${status}",source="${source}"`
    expect(request(at('api', 'POST', '/api/v3/files', 201, 'API_KEY'))).toBe(1)
    expect(request(at('api', 'GET', 'none', 404, 'none'))).toBe(1)
    expect(request(at('api', 'GET', '/api/v3/users/me', 401, 'WEB'))).toBe(1)
    expect(request(at('gateway', 'GET', '/ipfs/*path', 200, 'none'))).toBe(1)
    expect(found.get('holdfast_received_bytes_total{surface="api"}')).toBeGreaterThan(5_000)
    expect(found.get('holdfast_sent_bytes_total{surface="gateway"}')).toBe(5_000)
    expect(found.get('holdfast_sent_bytes_total{surface="api"}')).toBeGreaterThan(100)
    const place = 'surface="gateway",method="GET",route="/ipfs/*path"'
    expect(found.get(`holdfast_request_seconds_count{${place}}`)).toBe(1)
    expect(found.get(`holdfast_request_seconds_bucket{${place},le="+Inf"}`)).toBe(1)
  })

  test('report stored and collected content', async () => {
    const url = await listen()
    const cid = await upload(url, 'kept')
    await upload(url, 'and removed')
    const before = await samples(url)
    expect(before.get('holdfast_pins{status="pinned"}')).toBe(2)
    expect(before.get('holdfast_pins{status="failed"}')).toBe(0)
    expect(before.get('holdfast_blocks{state="durable"}')).toBe(2)
    expect(before.get('holdfast_block_bytes{state="durable"}')).toBe(15)
    expect(before.get('holdfast_accounted_bytes')).toBe(2 * 512)
    expect(before.get('holdfast_accounts')).toBe(1)

    await engine.pins.remove({ account, cid })
    await engine.collect({ graceSeconds: 0 })
    clock.advance(60_000)
    const after = await samples(url)
    expect(after.get('holdfast_pins{status="pinned"}')).toBe(1)
    expect(after.get('holdfast_roots{state="complete"}')).toBe(1)
    expect(after.get('holdfast_blocks{state="durable"}')).toBe(1)
    expect(after.get('holdfast_garbage_blocks')).toBe(0)
    expect(after.get('holdfast_collected_blocks_total')).toBe(1)
    expect(after.get('holdfast_collected_bytes_total')).toBe(4)
    expect(after.get('holdfast_collections_total')).toBeGreaterThanOrEqual(1)
  })

  test('report the process', async () => {
    const found = await samples(await listen())
    const started = found.get('process_start_time_seconds') ?? 0
    expect(Math.abs(started - (Date.now() / 1_000 - process.uptime()))).toBeLessThan(5)
    expect(found.get('process_resident_memory_bytes')).toBeGreaterThan(1e6)
    expect(found.get('nodejs_heap_size_used_bytes')).toBeGreaterThan(1e6)
    expect(found.get('nodejs_heap_size_total_bytes')).toBeGreaterThan(1e6)
    expect(found.get('nodejs_external_memory_bytes')).toBeGreaterThan(0)
    expect(found.get('holdfast_answer_memory_bytes')).toBe(0)
    expect(found.get('holdfast_answer_memory_limit_bytes')).toBeGreaterThan(1e6)
    for (const name of ['process_cpu_seconds_total', 'nodejs_eventloop_delay_max_seconds']) {
      expect(found.get(name), name).toBeGreaterThanOrEqual(0)
    }
    expect(found.get('nodejs_eventloop_delay_seconds{quantile="0.99"}')).toBeLessThan(60)
  })

  test('report open files and sockets', needsLinux, async () => {
    const url = await listen()
    const before = (await samples(url)).get('process_open_fds') ?? 0
    const opened = await Promise.all(Array.from({ length: 20 }, () => open(import.meta.filename)))
    const during = await samples(url)
    for (const file of opened) await file.close()
    expect((during.get('process_open_fds') ?? 0) - before).toBeGreaterThanOrEqual(18)
    expect(during.get('process_max_fds')).toBeGreaterThan(during.get('process_open_fds') ?? 0)
  })

  test('report the request time of the oldest fetch', async () => {
    expect((await engine.stats()).oldestFetchAt).toBeNull()
    const network = { enabled: true, peers: [`/ip4/127.0.0.1/tcp/9/p2p/${NOBODY}`] }
    const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-metrics-'))
    const asking = await createEngine({ dataDir: newDirectory(dataDir), clock, metrics, network })
    closers.push(
      () => rm(dataDir, { recursive: true, force: true }),
      () => asking.stop(),
    )
    const wanted = clock.now()
    const { id } = await asking.accounts.create({ email: 'b@example.org', plan: 'unlimited' })
    for (const cid of [ELSEWHERE, ALSO_ELSEWHERE]) {
      await asking.pins.pin({ account: id, cid, respondAsync: true })
      clock.advance(1_000)
    }
    const stats = await asking.stats()
    expect(stats.oldestFetchAt).toBe(wanted)
    expect(metrics.text(stats)).toContain(`holdfast_oldest_fetch_timestamp_seconds ${wanted / 1_000}\n`)
    await asking.pins.remove({ account: id, cid: ELSEWHERE })
    await expect.poll(async () => (await asking.stats()).oldestFetchAt).toBe(wanted + 1_000)
  })

  test('report the backlog of announcements if the node announces roots', async () => {
    const stats = await engine.stats()
    expect(metrics.text(stats)).not.toContain('announcement')
    const text = metrics.text({ ...stats, announcements: { waiting: 3, due: 10_000, oldestAt: 4_000 } })
    expect(text).toContain('holdfast_announcements_waiting 3\n')
    expect(text).toContain('holdfast_announcements_due 10000\n')
    expect(text).toContain('holdfast_oldest_announcement_timestamp_seconds 4\n')
  })

  test('report the copies of a node by state', async () => {
    const stats = await engine.stats()
    expect([stats.copies, metrics.text(stats).includes('holdfast_copies')]).toEqual([null, false])
    const states = { have: 5, wanted: 2, damaged: 0, surplus: 1, going: 0 }
    const text = metrics.text({ ...stats, copies: { states, waitsSince: 4_000, reason: null } })
    expect(text).toContain('holdfast_copies{state="have"} 5\n')
    expect(text).toContain('holdfast_copies{state="wanted"} 2\n')
    expect(text).toContain('holdfast_oldest_copy_timestamp_seconds 4\n')
  })

  test('combine with those of a host program, each name once', async () => {
    const url = await listen()
    await upload(url, 'something')
    const families = metrics.families(await engine.stats(), { process: false })
    const names = families.map(({ name }) => name)
    expect(names.filter(name => /^(process|nodejs)_/.test(name))).toEqual([])
    expect(new Set(names).size).toBe(names.length)
    const pins = families.find(({ name }) => name === 'holdfast_pins')
    expect(pins).toMatchObject({
      type: 'gauge',
      values: expect.arrayContaining([{ labels: { status: 'pinned' }, value: 1 }]),
    })
    const parts = families.find(({ type }) => type === 'histogram')?.values.map(({ metricName }) => metricName)
    expect(new Set(parts)).toEqual(new Set(['bucket', 'sum', 'count'].map(part => `holdfast_request_seconds_${part}`)))
    const everything = metrics.families(await engine.stats()).map(({ name }) => name)
    expect(everything.filter(name => /^(process|nodejs)_/.test(name)).length).toBeGreaterThan(3)
  })

  test('are valid for promtool', needs(hasPromtool, 'there is no promtool'), async () => {
    const url = await listen()
    const cid = await upload(url, 'something')
    await (await fetch(`${url}/ipfs/${cid}`)).text()
    await (await fetch(`${url}/api/v3/users/me`)).text()
    metrics.stalled({ ms: 300, work: 'POST "/of\\this' })
    const peers = [{ peer: 'a "peer"', freeBytes: 7, error: null }]
    const waits = { lookedAt: clock.now(), pins: 2, unpins: 1, since: clock.now() }
    const clusters = [
      { clusters: ['far'], peers, error: null, ...waits },
      { clusters: ['away'], peers: [], error: 'nobody answers', ...waits, since: null },
    ]
    const text = metrics.text({ ...(await engine.stats()), clusters })
    const told = ['up', 'peer_up', 'free_bytes', 'waiting', 'oldest_waiting_timestamp_seconds']
    for (const name of told) expect(text).toContain(`\nholdfast_cluster_${name}{cluster="far"`)
    const checked = spawnSync('promtool', ['check', 'metrics'], { input: text })
    expect([checked.status, String(checked.stderr), String(checked.stdout)]).toEqual([0, '', ''])
  })

  test('are readable on this machine only, unless configured otherwise', async () => {
    const closed = await listen()
    for (const headers of [{ 'x-forwarded-for': '127.0.0.1' }, { forwarded: 'for=10.0.0.1' }, { via: '1.1 proxy' }]) {
      const refused = await fetch(`${closed}/metrics`, { headers })
      expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([404, 'NOT_FOUND'])
    }
    expect((await fetch(`${closed}/metrics`, { method: 'POST' })).status).toBe(404)
    const open = await listen({ metrics, metricsFor: 'all' })
    await samples(open, { 'x-forwarded-for': '203.0.113.9' })
    expect((await fetch(`${await listen({})}/metrics`)).status).toBe(404)
  })

  test('are below the prefix of the Fastify plugin', async () => {
    const app = fastify()
    app.register(holdfast, { engine, metrics, prefix: '/pins' })
    closers.push(() => app.close())
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    expect((await samples(`${url}/pins`)).get('holdfast_accounts')).toBe(1)
    expect((await fetch(`${url}/metrics`)).status).toBe(404)
  })
})

describe('stats', () => {
  test('follow changes without counting anew', async () => {
    async function* many() {
      for (let index = 0; index < 5_000; index++) {
        yield { kind: 'file' as const, path: `f${index}`, content: Buffer.from(`content ${index}`) }
      }
    }
    await engine.pins.uploadDirectory(many(), { account })
    const { blocks, roots, pins } = await engine.stats()
    expect(blocks.durable.count).toBeGreaterThan(5_000)
    expect([roots.complete.count, pins.pinned]).toEqual([1, 1])
    await engine.pins.upload(Buffer.from('one more'), { account })
    expect((await engine.stats()).blocks.durable.count).toBe(blocks.durable.count + 1)
  })

  test('are refused by an engine that has stopped', async () => {
    await engine.stop()
    await expect(engine.stats()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})
