import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import {
  createMetricsServer,
  createServer,
  type MetricsReaders,
  PrometheusMetrics,
} from '../../adapters/node-http/index.ts'
import type { ApiRequest } from '../../src/http/api-messages.ts'
import { behindProxies, requestedHost } from '../../src/http/proxies.ts'
import { createEngine, type EngineConfig, type Logger } from '../../src/index.ts'
import { newDirectory } from '../support/new-database.ts'

const closers: (() => Promise<unknown> | unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

interface Served {
  get(path: string, headers?: Record<string, string>): Promise<{ status: number; body: string }>
  warnings: string[]
  /** Pins the text. Returns its CID. */
  upload(text: string): Promise<string>
  /** Port of the separate metrics server. */
  metricsPort: number
}

async function serve(config: EngineConfig, readers: MetricsReaders = {}): Promise<Served> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-proxies-'))
  closers.push(() => rm(dataDir, { recursive: true, force: true }))
  const warnings: string[] = []
  const ignore = (): void => {}
  const warn = (_: object, message: string): void => {
    warnings.push(message)
  }
  const logger: Logger = { debug: ignore, info: ignore, warn, error: ignore }
  const metrics = new PrometheusMetrics()
  const engine = await createEngine({ ...config, dataDir: newDirectory(dataDir), metrics, logger })
  closers.push(() => engine.stop())
  const { id: account } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
  const port = await listen(createServer(engine, { metrics, ...readers }))
  return {
    warnings,
    get: (path, headers = {}) => get(port, path, headers),
    upload: async text => (await engine.pins.upload(Buffer.from(text), { account })).record.cid,
    metricsPort: await listen(createMetricsServer(engine, metrics)),
  }
}

async function listen(server: http.Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

async function get(port: number, path: string, headers: Record<string, string>) {
  const request = http.get({ host: '127.0.0.1', port, path, headers, agent: false })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  return { status: response.statusCode ?? 0, body }
}

describe('the metrics', () => {
  test('are for local clients with a local name and without proxy', async () => {
    const { get } = await serve({})
    for (const host of ['localhost', 'LOCALHOST:4100', '127.0.0.1:1', '127.1.2.3', '[::1]:4100', hostname()]) {
      expect((await get('/metrics', { host })).status, host).toBe(200)
    }
    for (const host of ['rebound.example', 'x.ipfs.localhost', 'a b', '203.0.113.77']) {
      expect((await get('/metrics', { host })).status, host).toBe(404)
    }
    for (const name of ['X-Forwarded-For', 'Forwarded', 'Via', 'X-Real-IP', 'X-Forwarded-Host', 'X-Forwarded-Proto']) {
      expect((await get('/metrics', { [name]: '127.0.0.1' })).status, name).toBe(404)
    }
  })

  test('are not for local clients if proxies are trusted', async () => {
    expect((await (await serve({ trustedProxies: 1 })).get('/metrics')).status).toBe(404)
    expect((await (await serve({}, { metricsFor: 'nobody' })).get('/metrics')).status).toBe(404)
  })

  test('are for clients with the token, also through proxies', async () => {
    const { get } = await serve({ trustedProxies: 1 }, { metricsFor: 'nobody', metricsToken: 'the-right-token-of-it' })
    const status = async (authorization: string) =>
      (await get('/metrics', { authorization, 'x-forwarded-for': '203.0.113.9', host: 'pins.example' })).status
    expect(await status('Bearer the-right-token-of-it')).toBe(200)
    expect(await status('Bearer the-wrong-token-of-it')).toBe(404)
    expect(await status('the-right-token-of-it')).toBe(404)
    expect(await status('')).toBe(404)
  })

  test('are never on a host name of content', async () => {
    const readers: MetricsReaders = { metricsFor: 'all', metricsToken: 'the-right-token-of-it' }
    const { get, upload } = await serve({ gateway: { host: 'sites.example' }, trustedProxies: 1 }, readers)
    const host = `${await upload('a page')}.ipfs.sites.example`
    const authorization = 'Bearer the-right-token-of-it'
    expect((await get('/metrics', { host: 'sites.example' })).status).toBe(200)
    for (const headers of [
      { host },
      { host: 'inner', 'x-forwarded-host': host },
      { host, 'x-forwarded-host': 'other' },
    ]) {
      const answer = await get('/metrics', { ...headers, authorization })
      expect([answer.status, answer.body.includes('holdfast_info')]).toEqual([404, false])
    }
  })

  test('have their own server without other routes', async () => {
    const { metricsPort } = await serve({ trustedProxies: 1 }, { metricsFor: 'nobody' })
    const answer = await get(metricsPort, '/metrics', { host: 'scraped.example' })
    expect([answer.status, answer.body.includes('holdfast_accounts 1')]).toEqual([200, true])
    expect((await get(metricsPort, '/health', {})).status).toBe(404)
  })
})

describe('the requested host', () => {
  test.each([
    ['inner', undefined, 1, 'inner'],
    ['inner', 'outer', 0, 'inner'],
    ['inner', 'outer', 1, 'outer'],
    ['inner', 'forged, outer', 1, 'outer'],
    ['inner', 'forged, outer, middle', 2, 'outer'],
    ['inner', 'outer', 2, 'outer'],
    ['inner', ' ', 1, 'inner'],
  ])('Host %s with X-Forwarded-Host %s behind %i proxies is %s', (host, forwarded, proxies, expected) => {
    const headers: Record<string, string | undefined> = { host, 'x-forwarded-host': forwarded }
    expect(requestedHost(name => headers[name], proxies)).toBe(expected)
  })

  test('keeps origins apart behind a proxy that rewrites Host', async () => {
    const config: EngineConfig = { gateway: { host: 'sites.example' } }
    for (const [trustedProxies, body] of [
      [1, 'a page'],
      [0, '<h1>Holdfast</h1>'],
    ] as const) {
      const { get, upload } = await serve({ ...config, trustedProxies })
      const forwarded = { host: '127.0.0.1:4100', 'x-forwarded-host': `${await upload('a page')}.ipfs.sites.example` }
      expect((await get('/', forwarded)).body).toContain(body)
    }
  })
})

test('a proxy that is not configured is logged once', async () => {
  const { get, warnings } = await serve({})
  await get('/health')
  expect(warnings).toEqual([])
  for (let i = 0; i < 3; i++) await get('/health', { 'x-forwarded-for': '203.0.113.9' })
  await get('/ipfs/x', { 'x-forwarded-for': '203.0.113.9' })
  expect(warnings).toEqual([expect.stringContaining('trustedProxies')])
  const trusted = await serve({ trustedProxies: 1 })
  await trusted.get('/health', { 'x-forwarded-for': '203.0.113.9' })
  expect(trusted.warnings).toEqual([])
})

test('the scheme comes from the outermost trusted proxy', async () => {
  const quiet = (): void => undefined
  const logger: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet }
  const schemeOf = async (
    trusted: number,
    headers: Record<string, string>,
  ): Promise<ApiRequest['scheme'] | 'unasked'> => {
    let seen: ApiRequest['scheme'] | 'unasked' = 'unasked'
    const handler = behindProxies(
      trusted,
      logger,
    )(async ({ scheme }) => {
      seen = scheme
      return { status: 204, headers: {}, body: null }
    })
    await handler({
      method: 'GET',
      path: '/',
      query: '',
      header: name => headers[name],
      body: (async function* () {})(),
      signal: new AbortController().signal,
      scheme: 'http',
      remoteAddress: '127.0.0.1',
    })
    return seen
  }
  expect(await schemeOf(0, {})).toBe('http')
  expect(await schemeOf(0, { 'x-forwarded-proto': 'https' })).toBe(undefined)
  expect(await schemeOf(1, {})).toBe('http')
  expect(await schemeOf(1, { 'x-forwarded-proto': 'https' })).toBe('https')
  expect(await schemeOf(1, { 'x-forwarded-proto': 'https, HTTP' })).toBe('http')
  expect(await schemeOf(2, { 'x-forwarded-proto': 'https, http' })).toBe('https')
  expect(await schemeOf(2, { 'x-forwarded-proto': 'https' })).toBe('https')
  expect(await schemeOf(1, { 'x-forwarded-for': '203.0.113.1' })).toBe(undefined)
  expect(await schemeOf(1, { 'x-forwarded-proto': 'gopher' })).toBe(undefined)
})
