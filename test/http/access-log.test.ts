import { once } from 'node:events'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { toFetch } from '../../adapters/fetch/index.ts'
import { createServer, PrometheusMetrics } from '../../adapters/node-http/index.ts'
import { createEngine, type Engine, SCOPES } from '../../src/index.ts'
import { newDirectory } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'

type Line = Record<string, unknown>

let engine: Engine
let url: string
let account: string
let key: { id: string; secret: string }
let lines: Line[]
let metrics: PrometheusMetrics
let close: () => Promise<void>

beforeEach(async () => {
  lines = []
  metrics = new PrometheusMetrics()
  const write = (fields: object, message: string): void => {
    lines.push({ ...fields, message })
  }
  const logger = { debug: write, info: write, warn: write, error: write }
  const ready = Promise.withResolvers<void>()
  const done = Promise.withResolvers<void>()
  const ended = withTempDir(async dataDir => {
    engine = await createEngine({ dataDir: newDirectory(dataDir), logger, metrics, trustedProxies: 1 })
    account = (await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })).id
    const { secret, key: made } = await engine.keys.create(account, { name: 'phone', scopes: SCOPES })
    key = { id: made.id, secret }
    const server = createServer(engine, { metrics }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
    ready.resolve()
    await done.promise
    server.closeAllConnections()
    server.close()
    await engine.stop()
  })
  close = async () => {
    done.resolve()
    await ended
  }
  await Promise.race([ready.promise, ended])
})

afterEach(() => close())

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { 'x-forwarded-for': '203.0.113.7', ...init.headers }
  const answer = await fetch(`${url}${path}`, { ...init, headers })
  await answer.clone().arrayBuffer()
  return answer
}

const about = (path: string): Line | undefined => lines.find(line => line.message === 'request' && line.path === path)

function form(content: string, name: string): FormData {
  const body = new FormData()
  body.append('files', new Blob([content]), name)
  return body
}

test('the log line of an upload has account, key, client and CID', async () => {
  const body = new FormData()
  body.append('file', new Blob(['x'.repeat(5_000)]))
  const answer = await ask('/api/v3/files', { method: 'POST', body, headers: { 'x-api-key': key.secret } })
  const { cid } = (await answer.json()) as { cid: string }
  const line = about('/api/v3/files')
  expect(line).toMatchObject({
    ...{ surface: 'api', client: '203.0.113.7', account, key: key.id, source: 'API_KEY', method: 'POST' },
    ...{ route: '/api/v3/files', cid, status: 201 },
  })
  expect(line?.requestId).toBe(answer.headers.get('x-request-id'))
  expect(line?.bytesIn).toBeGreaterThan(5_000)
  expect(line?.bytes).toBe(Number(answer.headers.get('content-length')))
  expect(JSON.stringify(lines)).not.toContain(key.secret)
})

test('the log line of a read has the bytes sent', async () => {
  const headers = { 'x-api-key': key.secret }
  const made = await ask('/api/v3/files/directory-dag', { method: 'POST', body: form('hello', 'd/a.txt'), headers })
  const { dagCid } = (await made.json()) as { dagCid: string }
  const page = await ask(`/ipfs/${dagCid}/`, { headers: { accept: 'text/html' } })
  const html = await page.text()
  expect(about(`/ipfs/${dagCid}/`)).toMatchObject({
    ...{ surface: 'gateway', client: '203.0.113.7', account: null, key: null, method: 'GET', route: '/ipfs/*path' },
    ...{ status: 200, bytes: Buffer.byteLength(html), bytesIn: 0 },
  })
  expect(html.length).toBeGreaterThan(100)
  await ask(`/ipfs/${dagCid}/d/a.txt`)
  expect(about(`/ipfs/${dagCid}/d/a.txt`)).toMatchObject({ status: 200, bytes: 5 })
  await ask(`/ipfs/${dagCid}/d/a.txt`, { method: 'HEAD' })
  expect(lines.findLast(line => line.method === 'HEAD')).toMatchObject({ status: 200, bytes: 0 })
})

test('the log line of an archive follows its end, with bytes sent', async () => {
  const headers = { 'x-api-key': key.secret }
  const made = await ask('/api/v3/files/directory-dag', { method: 'POST', body: form('hello', 'd/a.txt'), headers })
  const { dagCid } = (await made.json()) as { dagCid: string }
  for (const format of ['car', 'tar']) {
    lines.length = 0
    const answer = await ask(`/ipfs/${dagCid}?format=${format}`)
    const { byteLength } = await answer.arrayBuffer()
    expect(byteLength).toBeGreaterThan(100)
    await expect.poll(() => about(`/ipfs/${dagCid}`)).toMatchObject({ status: 200, bytes: byteLength })
  }
})

test('the log line of a streamed API answer follows its end', async () => {
  const boss = await engine.accounts.create({ email: 'boss@example.org', plan: 'unlimited', role: 'owner' })
  const { secret } = await engine.keys.create(boss.id, { name: 'owner', scopes: SCOPES })
  const headers = { 'x-api-key': secret, accept: 'application/x-ndjson' }
  const answer = await ask('/admin/v1/verify', { method: 'POST', headers })
  const text = await answer.text()
  expect(text).toContain('"done":true')
  await expect.poll(() => about('/admin/v1/verify')).toMatchObject({ status: 200, bytes: text.length })
})

test('the log line of an aborted answer has the bytes sent', async () => {
  const file = Buffer.alloc(3 * 1024 * 1024, 'x')
  const { record } = await engine.pins.upload(file, { account })
  const path = `/ipfs/${record.cid}`
  const answer = await toFetch(engine)(new Request(`http://localhost${path}`))
  const reader = answer.body?.getReader()
  const taken = (await reader?.read())?.value?.byteLength ?? 0
  expect(taken).toBeGreaterThan(0)
  expect(about(path)).toBeUndefined()
  await reader?.cancel()
  expect(about(path)).toMatchObject({ status: 200, bytes: taken })

  lines.length = 0
  const unread = await toFetch(engine)(new Request(`http://localhost${path}`))
  await unread.body?.cancel()
  expect(about(path)).toMatchObject({ status: 200, bytes: 0 })
})

test('refusals are logged and counted by code, and failed logins separately', async () => {
  await ask('/api/v3/users/me', { headers: { 'x-api-key': 'nobody’s'.slice(0, 6) } })
  expect(about('/api/v3/users/me')).toMatchObject({ status: 401, code: 'INVALID_API_KEY', account: null, key: null })
  await ask('/ipfs/bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm')
  for (let login = 0; login < 3; login++) {
    const body = JSON.stringify({ email: 'a@example.org', password: 'not the right one' })
    const headers = { 'content-type': 'application/json' }
    expect((await ask('/api/v3/auth/login', { method: 'POST', body, headers })).status).toBe(401)
  }
  const text = metrics.text(await engine.stats())
  expect(text).toContain('holdfast_refusals_total{surface="api",code="INVALID_API_KEY"} 4\n')
  expect(text).toContain('holdfast_refusals_total{surface="gateway",code="CID_NOT_FOUND"} 1\n')
  expect(text).toContain('holdfast_failed_logins_total 3\n')
})
