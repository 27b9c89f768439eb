import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { context, diag, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createServer, PrometheusMetrics } from '../../../adapters/node-http/index.ts'
import { type FinishedWork, openTelemetry } from '../../../adapters/opentelemetry/index.ts'
import { createEngine, type Engine, SCOPES, VERSION } from '../../../src/index.ts'
import { Receiver } from '../../features/webhooks/receiver.ts' // feature: webhooks
import { leaf } from '../../pins/fetches/support/dags.ts'
import { quick, withStillNet } from '../../pins/fetches/support/net.ts'
import { newDirectory } from '../../support/new-database.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { threadReaders } from '../../support/thread-readers.ts'

const PARENT = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
const TRACEPARENT = `00-${PARENT.traceId}-${PARENT.spanId}-01`

const exporter = new InMemorySpanExporter()
/** The SDK of a host program. */
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

beforeAll(() => {
  trace.setGlobalTracerProvider(provider)
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
})
beforeEach(() => exporter.reset())
afterAll(() => {
  trace.disable()
  propagation.disable()
})

interface Traced {
  engine: Engine
  account: string
  dataDir: string
  ask(method: string, path: string, more?: { headers?: Record<string, string>; body?: string }): Promise<Response>
}

/** Runs with a traced engine behind a server, whose requests have the key of an owner. */
function traced(run: (traced: Traced) => Promise<void>): Promise<void> {
  return withTempDir(async directory => {
    const metrics = new PrometheusMetrics()
    metrics.finished = await openTelemetry()
    const dataDir = join(directory, 'data')
    const backupRoots = [directory]
    const engine = await createEngine({
      dataDir: newDirectory(dataDir),
      metrics,
      backupRoots,
      webhooks: { allowPrivate: true }, // feature: webhooks
    })
    const server = createServer(engine, { metrics })
    try {
      await run({ engine, dataDir, ...(await clientOf(engine, server)) })
    } finally {
      server.close().closeAllConnections()
      await engine.stop()
    }
  })
}

async function clientOf(engine: Engine, server: ReturnType<typeof createServer>) {
  const { account } = await engine.accounts.ensureOwner()
  const { secret } = await engine.keys.create(account.id, { name: 'test', scopes: SCOPES })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const ask: Traced['ask'] = (method, path, { headers = {}, body } = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body }),
    })
  return { account: account.id, ask }
}

/** Waits for a span. */
async function spanOf(name: string): Promise<ReadableSpan> {
  const find = () => exporter.getFinishedSpans().find(span => span.name === name)
  await expect.poll(find).toBeDefined()
  return find() as ReadableSpan
}

const finished: FinishedWork = {
  kind: 'collection',
  startedAt: 1_800_000_000_000,
  endedAt: 1_800_000_002_500,
  code: null,
  facts: {},
}
const request = (method: string, status: number, code: FinishedWork['code'] = null): FinishedWork => ({
  ...{ ...finished, kind: 'request', code },
  request: { method, route: '/health', status },
})

describe('spans', () => {
  test('a request has its route, its caller and no secret', () =>
    traced(async ({ ask }) => {
      const path = '/api/v3/users/me/uploads/bafkreigh2akiscaildc?secret=in-the-query'
      const answer = await ask('DELETE', path, { headers: { traceparent: TRACEPARENT, tracestate: 'a=b' } })
      const route = 'DELETE /api/v3/users/me/uploads/:cid'
      const span = await spanOf(route)
      expect(span.kind).toBe(SpanKind.SERVER)
      expect(span.spanContext().traceId).toBe(PARENT.traceId)
      expect(span.spanContext().traceState?.serialize()).toBe('a=b')
      expect(span.parentSpanContext).toMatchObject({ spanId: PARENT.spanId, isRemote: true })
      expect(span.instrumentationScope).toMatchObject({ name: 'holdfast', version: VERSION })
      expect(span.status.code).toBe(SpanStatusCode.UNSET)
      expect(span.attributes).toEqual({
        'http.request.method': 'DELETE',
        'http.route': '/api/v3/users/me/uploads/:cid',
        'http.response.status_code': answer.status,
        'url.scheme': 'http',
        'error.type': expect.any(String),
        'holdfast.surface': 'api',
        'holdfast.request_id': answer.headers.get('x-request-id'),
        'holdfast.received_bytes': 0,
        'holdfast.sent_bytes': (await answer.arrayBuffer()).byteLength,
      })
    }))

  test('a request without a parent begins a trace', () =>
    traced(async ({ ask }) => {
      await ask('GET', '/health', { headers: { traceparent: 'not one' } })
      expect((await spanOf('GET /health')).parentSpanContext).toBeUndefined()
    }))

  test('failures of the server differ from errors of a client', async () => {
    const take = await openTelemetry()
    take(request('GET', 503, 'UNAVAILABLE'))
    take(request('MADE-UP', 404, 'NOT_FOUND'))
    take({ ...finished, code: 'ABORTED' })
    take({ ...finished, kind: 'backup', code: 'INTERNAL_ERROR' })
    const told = exporter.getFinishedSpans().map(({ name, status, attributes }) => {
      return [name, status.code, attributes['error.type'], attributes['http.request.method']]
    })
    expect(told).toEqual([
      ['GET /health', SpanStatusCode.ERROR, 'UNAVAILABLE', 'GET'],
      ['HTTP /health', SpanStatusCode.UNSET, 'NOT_FOUND', '_OTHER'],
      ['collection', SpanStatusCode.UNSET, 'ABORTED', undefined],
      ['backup', SpanStatusCode.ERROR, 'INTERNAL_ERROR', undefined],
    ])
    expect(exporter.getFinishedSpans()[0]).toMatchObject({
      startTime: [1_800_000_000, 0],
      endTime: [1_800_000_002, 500_000_000],
    })
  })

  test('a backup and a collection are below the request for them', () =>
    traced(async ({ ask, dataDir }) => {
      const backup = { headers: { traceparent: TRACEPARENT }, body: JSON.stringify({ directory: `${dataDir}-backup` }) }
      expect((await ask('POST', '/admin/v1/backup', backup)).status).toBe(200)
      expect((await ask('POST', '/admin/v1/gc')).status).toBe(200)
      for (const [name, route] of [
        ['backup', 'POST /admin/v1/backup'],
        ['collection', 'POST /admin/v1/gc'],
      ] as const) {
        const asked = (await spanOf(route)).spanContext()
        const below = exporter.getFinishedSpans().filter(step => step.parentSpanContext?.spanId === asked.spanId)
        expect(below.map(step => [step.name, step.spanContext().traceId])).toContainEqual([name, asked.traceId])
      }
      expect((await spanOf('backup')).attributes).toMatchObject({ 'holdfast.blocks': 0 })
      expect((await spanOf('collection')).attributes).toEqual({
        'holdfast.roots': 0,
        'holdfast.blocks': 0,
        'holdfast.bytes': 0,
      })
    }))

  // feature: webhooks
  test('a webhook delivery has its outcome, and not its URL', () =>
    traced(async ({ ask, engine }) => {
      await using receiver = await new Receiver().start()
      receiver.answer = response => response.writeHead(500).end()
      const made = await ask('POST', '/api/v3/webhooks', { body: JSON.stringify({ url: `${receiver.url}?token=t` }) })
      expect(made.status).toBe(201)
      await engine.pins.upload(Buffer.from('told by webhook'))
      const span = await spanOf('webhook delivery')
      expect(span.kind).toBe(SpanKind.CLIENT)
      expect(span.status.code).toBe(SpanStatusCode.ERROR)
      expect(span.attributes).toEqual({
        'error.type': 'UNAVAILABLE',
        'holdfast.delivery': expect.anything(),
        'holdfast.webhook': expect.anything(),
        'holdfast.attempt': 1,
        'holdfast.status': 500,
      })
    }))
  // end

  test('a fetch is below the request that began it', () =>
    withStillNet(async ({ node, provider: provide }) => {
      const content = leaf(Buffer.from('fetched under a trace'))
      const peer = await provide(content.blocks)
      const metrics = new PrometheusMetrics()
      metrics.finished = await openTelemetry()
      const pin = { ...quick, waitSeconds: 1 }
      const { engine } = await node({ metrics, pin, network: { peers: [peer.address] } })
      const server = createServer(engine, { metrics })
      const { ask } = await clientOf(engine, server)
      try {
        const asked = ask('POST', `/api/v3/files/pin/${content.root}`, {
          headers: { traceparent: TRACEPARENT },
          body: '{}',
        })
        expect((await asked).status).toBeLessThan(300)
        const [fetched, pinned] = [await spanOf('fetch'), await spanOf('POST /api/v3/files/pin/*cid')]
        expect(fetched.parentSpanContext?.spanId).toBe(pinned.spanContext().spanId)
        expect(fetched.spanContext().traceId).toBe(PARENT.traceId)
        expect(fetched.attributes).toMatchObject({
          'holdfast.cid': content.root.toString(),
          'holdfast.attempt': 1,
          'holdfast.blocks': 1,
        })
      } finally {
        server.close().closeAllConnections()
      }
    }))

  test('steps that end before or after their request are below it', async () => {
    const take = await openTelemetry()
    const identity = {}
    take({ ...finished, trace: identity })
    take({ ...request('GET', 200), trace: identity })
    take({ ...finished, kind: 'fetch', trace: identity })
    const [asked, ...steps] = exporter.getFinishedSpans()
    expect(steps.map(({ name }) => name)).toEqual(['collection', 'fetch'])
    for (const step of steps) expect(step.parentSpanContext).toMatchObject({ spanId: asked?.spanContext().spanId })
  })

  test('the main thread makes the spans of gateway threads', () =>
    withTempDir(async dataDir => {
      const metrics = new PrometheusMetrics()
      metrics.finished = await openTelemetry()
      const engine = await createEngine({ dataDir: newDirectory(dataDir), singleUser: true })
      const readers = await threadReaders(engine, { threads: 1, metrics })
      try {
        const { record } = await engine.pins.upload(Buffer.from('read by a traced thread'))
        await readers.get(`/ipfs/${record.cid}`, { traceparent: TRACEPARENT })
        await expect.poll(() => exporter.getFinishedSpans().some(isChild)).toBe(true)
        const span = exporter.getFinishedSpans().find(isChild)
        expect(span).toMatchObject({ name: 'GET /ipfs/*path', attributes: { 'holdfast.sent_bytes': 23 } })
        expect(JSON.stringify(span?.attributes)).not.toContain(record.cid)
      } finally {
        await readers.stop()
        await engine.stop()
      }
    }))

  test('a broken SDK fails no request', () =>
    traced(async ({ ask }) => {
      const told = vi.spyOn(diag, 'error').mockReturnValue(undefined)
      const broken = vi.spyOn(context, 'active').mockImplementation(() => {
        throw new Error('a broken SDK')
      })
      const { status } = await ask('GET', '/health')
      broken.mockRestore()
      expect(status).toBe(200)
      expect(told).toHaveBeenCalled()
    }))
})

function isChild(span: ReadableSpan): boolean {
  return span.parentSpanContext?.spanId === PARENT.spanId
}
