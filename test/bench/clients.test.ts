import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { clientsFor } from '../../bench/clients/clients.ts'
import { readCurl } from '../../bench/clients/curl.ts'
import { eachWithH2load, partsOf, readH2load } from '../../bench/clients/h2load.ts'
import { hammerWithNode } from '../../bench/clients/node-client.ts'
import { hammerWithWrk, readWrk, scriptOf } from '../../bench/clients/wrk.ts'
import { findProgram, programsHere, versionIn } from '../../bench/programs.ts'
import { readerThreads } from '../../bench/services/reader-threads.ts'
import { statFields, UsageWatch } from '../../bench/usage.ts'
import { needs, needsLinux } from '../support/needs.ts'

const WRK = `Running 1s test @ http://127.0.0.1:9911/
  1 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   203.22us  515.37us   6.77ms   94.11%
    Req/Sec    42.36k    15.94k   63.30k    63.64%
  Latency Distribution
     50%   82.00us
     75%  110.00us
     90%  259.00us
     99%    2.87ms
  46258 requests in 1.10s, 186.21MB read
Requests/sec:  42052.00
Transfer/sec:    169.28MB
`

test('reads the output of wrk; a failure is an error', () => {
  expect(readWrk(WRK)).toEqual({ client: 'wrk', done: 46_258, seconds: 1.1, medianMs: 0.082 })
  expect(readWrk(WRK.replace('82.00us', '1.50s').replace('1.10s', '2.00m'))).toMatchObject({
    seconds: 120,
    medianMs: 1_500,
  })
  expect(() => readWrk(WRK.replace('Requests/sec', '  Non-2xx or 3xx responses: 7\nRequests/sec'))).toThrow(
    'responses: 7',
  )
  expect(() => readWrk(WRK.replace('Requests/sec', '  Socket errors: connect 0, read 1\nRequests/sec'))).toThrow(
    'read 1',
  )
  expect(() => readWrk(WRK.replace('46258 requests', '0 requests'))).toThrow('wrk said')
  expect(() => readWrk('unable to connect')).toThrow('unable to connect')
})

test('reads the output of curl and h2load; a failure is an error', () => {
  expect(readCurl('{"a":1}\nb\n201 0.250000 4096')).toEqual({ seconds: 0.25, bytes: 4_096, body: '{"a":1}\nb' })
  expect(() => readCurl('sorry\n503 0.1 7')).toThrow('curl was answered 503: sorry')
  expect(() => readCurl('')).toThrow('curl was answered')
  expect(readH2load('x\nstatus codes: 12 2xx, 0 3xx, 0 4xx, 0 5xx\n', 12)).toBe(12)
  expect(() => readH2load('status codes: 11 2xx, 0 3xx, 1 4xx, 0 5xx\n', 12)).toThrow('11 2xx, 0 3xx, 1 4xx')
  expect(() => readH2load('no such host', 1)).toThrow('no such host')
})

test('lists are dealt out completely, without empty parts', () => {
  expect(partsOf([1, 2, 3, 4, 5], 2)).toEqual([
    [1, 3, 5],
    [2, 4],
  ])
  expect(partsOf([1], 8)).toEqual([[1]])
  expect(partsOf([], 8)).toEqual([])
})

test('finds versions and processes in the output of programs', () => {
  expect(versionIn('Kubo version: 0.44.0-dev\n')).toBe('0.44.0-dev')
  expect(versionIn('nginx version: nginx/1.22.1\n')).toBe('1.22.1')
  expect(versionIn('none')).toBe('unknown')
  const before = process.env.HOLDFAST_TEST_IPFS
  process.env.HOLDFAST_TEST_IPFS = '/nowhere/ipfs'
  try {
    expect(programsHere().absent.kubo).toBe('a contender, HOLDFAST_TEST_IPFS names no program')
    process.env.HOLDFAST_TEST_IPFS = process.execPath
    expect(programsHere()).toMatchObject({ versions: { kubo: expect.any(String) } })
  } finally {
    if (before === undefined) delete process.env.HOLDFAST_TEST_IPFS
    else process.env.HOLDFAST_TEST_IPFS = before
  }
  expect(statFields('4 (a) b c) S 1 2 3').slice(1)).toEqual([1, 2, 3])
})

test('a watch measures the costs of processes from its start on', needsLinux, () => {
  expect(UsageWatch.start(undefined)).toBeNull()
  expect(UsageWatch.start([])).toBeNull()
  const watch = UsageWatch.start([process.pid])
  const idle = UsageWatch.start([2 ** 30])
  const began = process.cpuUsage()
  // Spends processor time, not wall time, so that a busy machine does not matter.
  for (let spent = 0; spent < 200_000; ) {
    const { user, system } = process.cpuUsage(began)
    spent = user + system
  }
  const usage = watch?.usage()
  expect(usage?.cpuSeconds).toBeGreaterThan(0.15)
  expect(usage?.busiestSeconds).toBeGreaterThan(0.05)
  // The kernel rounds the time of each thread separately.
  expect(usage?.busiestSeconds).toBeLessThan((usage?.cpuSeconds ?? 0) + 0.05)
  expect(usage?.peakMiB).toBeGreaterThan(10)
  expect(idle?.usage()).toEqual({ cpuSeconds: 0, busiestSeconds: 0, peakMiB: 0, writtenMiB: 0 })
})

test('a gateway counts as threaded when it closes its first connection', async () => {
  let asked = 0
  const front = createServer((_, response) => {
    response.shouldKeepAlive = ++asked < 3
    response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await once(front, 'listening')
  await readerThreads(`http://127.0.0.1:${(front.address() as AddressInfo).port}/ipfs/`)
  expect(asked).toBe(3)
  front.close()
  await expect(readerThreads('http://127.0.0.1:1/ipfs/')).rejects.toThrow('no threads of its own')
})

let server: Server
let seen: Array<{ method: string; url: string; key: string; body: Buffer; type: string }>
let base: string
let status: (request: IncomingMessage) => number

beforeEach(async () => {
  seen = []
  status = () => 200
  server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    const type = headers['content-type'] ?? ''
    seen.push({ method, url, key: String(headers['x-key'] ?? ''), body: await buffer(request), type })
    response.writeHead(status(request)).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const calls = (count: number, method: string) =>
  Array.from({ length: count }, (_, index) => ({
    method,
    url: `${base}/a/${index}?b=c`,
    headers: { 'x-key': 'k "1"' },
  }))

/** Checks that all calls came in turn with their headers, each with a form of a fresh file of 300 bytes. */
async function expectForms(count: number): Promise<void> {
  expect(new Set(seen.map(({ url }) => url))).toEqual(new Set(['/a/0?b=c', '/a/1?b=c', '/a/2?b=c']))
  expect(new Set(seen.map(({ method, key }) => `${method} ${key}`))).toEqual(new Set(['POST k "1"']))
  const files = await Promise.all(
    seen.slice(0, count).map(async ({ body, type }) => {
      const form = await new Response(Uint8Array.from(body), { headers: { 'content-type': type } }).formData()
      const file = form.get('file')
      return file instanceof File ? Buffer.from(await file.arrayBuffer()).toString('latin1') : ''
    }),
  )
  expect(files.map(file => file.length)).toEqual(files.map(() => 300))
  expect(new Set(files).size).toBe(files.length)
}

test("Node's client sends the requested number of calls with fresh forms", async () => {
  const load = await hammerWithNode({ calls: calls(3, 'POST'), connections: 4, count: 20, seconds: 0, formBytes: 300 })
  expect(load).toMatchObject({ client: 'node', done: 20, medianMs: expect.any(Number) })
  expect(seen).toHaveLength(20)
  await expectForms(20)
})

test('wrk sends the same calls', needs(findProgram('wrk') !== null, 'wrk is not installed'), async () => {
  const hammering = { calls: calls(3, 'POST'), connections: 4, count: 0, seconds: 1, formBytes: 300 }
  const load = await hammerWithWrk(findProgram('wrk') ?? '', hammering)
  expect(load.client).toBe('wrk')
  // wrk does not count requests still under way at its end.
  expect(load.done).toBeLessThanOrEqual(seen.length)
  await expectForms(Math.min(seen.length, 50))
  status = ({ url }) => (url?.startsWith('/a/1') ? 500 : 200)
  await expect(hammerWithWrk(findProgram('wrk') ?? '', hammering)).rejects.toThrow(/Non-2xx or 3xx responses: \d+/)
})

test('h2load makes each call once', needs(findProgram('h2load') !== null, 'h2load is not installed'), async () => {
  const program = findProgram('h2load') ?? ''
  expect(await eachWithH2load(program, calls(11, 'DELETE'), 4)).toMatchObject({ client: 'h2load', done: 11 })
  const wanted = Array.from({ length: 11 }, (_, index) => `DELETE /a/${index}?b=c k "1"`)
  expect(seen.map(({ method, url, key }) => `${method} ${url} ${key}`).sort()).toEqual(wanted.sort())
  status = ({ url }) => (url === '/a/3?b=c' ? 404 : 200)
  await expect(eachWithH2load(program, calls(11, 'DELETE'), 4)).rejects.toThrow(/1 4xx/)
})

test('an answer with another status fails the load', async () => {
  const { hammer, each } = clientsFor('tiny')
  status = () => 304
  const once = { calls: calls(1, 'GET'), connections: 1, count: 1, seconds: 1 }
  await expect(hammer(once)).rejects.toThrow('was answered 304')
  await expect(each(once.calls, 1)).rejects.toThrow('was answered 304')
  expect(await hammer({ ...once, status: 304 })).toMatchObject({ done: 1 })
  expect(() => scriptOf({ ...once, calls: [] })).toThrow('no calls')
})
