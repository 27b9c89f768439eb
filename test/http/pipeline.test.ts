import { describe, expect, test } from 'vitest'
import { RequestLimits } from '../../src/access/limits/request-limits.ts'
import type { Credential, Principal } from '../../src/access/principal.ts'
import { ScopePolicy } from '../../src/access/scope-policy.ts'
import { turnSpent } from '../../src/concurrency/turns.ts'
import { currentWork, underName } from '../../src/concurrency/work.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { type ErrorCode, HoldfastError } from '../../src/domain/errors.ts'
import type { ApiRequest } from '../../src/http/api-messages.ts'
import { jsonResponse, readJsonBody } from '../../src/http/json-body.ts'
import { createApi } from '../../src/http/pipeline.ts'
import type { PublicRoute, RequestContext, Route } from '../../src/http/route.ts'

const clock: Clock = { now: () => Date.UTC(2026, 0, 1), after: () => () => {} }
const SECRET = 'a-secret-that-must-not-be-logged'

function principalOf(kind: Credential['kind'], requests: number): Principal {
  return {
    account: {
      ...{ id: 'a', email: 'a@example.org', name: null, plan: 'p', role: 'user', defaultCluster: null },
      ...{ disabled: false, owner: null, defaultVisibility: 'public' as const, createdAt: 0 },
    },
    plan: {
      ...{ name: 'p', timelock: false, clusters: '*', serverImport: true, maxFileBytes: null, maxDirectoryBytes: null },
      ...{
        maxDirectoryFiles: null,
        maxStorageBytes: null,
        maxPins: null,
        maxKeys: null,
        maxQueuedPins: null,
        maxEgressBytes: null,
        pageLimit: { default: 1, max: 1 },
      },
      ...{ rateLimit: { requests, windowSeconds: 60 }, accountRateLimit: null },
    },
    credential: { kind, id: `credential of ${requests}`, name: null, scopes: ['files:read'], expiresAt: null },
  }
}

interface Line {
  level: string
  message: string
  fields: Record<string, unknown>
}

/** An API with a few test routes. Every credential belongs to `principal`. */
function apiOf(
  routes: readonly Route[],
  options: { kind?: Credential['kind']; requests?: number; failures?: number } = {},
) {
  const lines: Line[] = []
  const record = (level: string) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } })
  }
  const logger = { debug: record('debug'), info: record('info'), warn: record('warn'), error: record('error') }
  let ids = 0
  const api = createApi({
    routes,
    authentication: {
      authenticate: async request => {
        const header = request.header('authorization')
        if (header === 'disabled') throw new HoldfastError('account_disabled', 'disabled')
        if (header === undefined) throw new HoldfastError('INVALID_API_KEY', 'none')
        const principal = principalOf(options.kind ?? 'key', options.requests ?? 1_000)
        if (header === 'other account') principal.account.id = 'b'
        return principal
      },
    },
    authorization: new ScopePolicy(),
    limits: new RequestLimits({ clock, failures: { requests: options.failures ?? 2, windowSeconds: 60 } }),
    logger,
    clock,
    newRequestId: () => `request-${++ids}`,
  })
  return { api, lines }
}

function get(
  path: string,
  more: Partial<Omit<ApiRequest, 'header'>> & { headers?: Record<string, string> } = {},
): ApiRequest {
  const { headers = { authorization: SECRET }, ...rest } = more
  return {
    ...{
      method: 'GET',
      path,
      query: '',
      body: bytes(),
      signal: new AbortController().signal,
      remoteAddress: '10.0.0.1',
    },
    ...rest,
    header: name => headers[name],
  }
}

/** Each piece is valid until the next is requested. */
async function* bytes(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) {
    const piece = Buffer.from(text)
    yield piece
    piece.fill(0)
  }
}

const fine: Route = {
  method: 'GET',
  path: '/fine/:what',
  access: 'authenticated',
  handler: () => jsonResponse(200, {}),
}
const body: Route = {
  method: 'POST',
  path: '/body',
  access: 'authenticated',
  handler: async ({ request }) => jsonResponse(200, { body: await readJsonBody(request) }),
}

describe('the request log', () => {
  test.each([
    ['key', undefined, 'API_KEY'],
    ['session', undefined, 'JWT'],
    ['session', 'web', 'WEB'],
    ['key', 'Web', 'WEB'],
    ['key', 'something else', 'API_KEY'],
  ] as const)('a %s with the source %s is %s', async (kind, source, expected) => {
    const { api, lines } = apiOf([fine], { kind })
    const headers: Record<string, string> = { authorization: SECRET, 'x-api-key': SECRET }
    if (source !== undefined) headers['x-request-source'] = source
    await api(get('/fine/thing', { headers, query: `key=${SECRET}` }))
    expect(lines).toEqual([
      {
        ...{ level: 'info', message: 'request' },
        fields: {
          ...{ surface: 'api', requestId: 'request-1', client: '10.0.0.1', account: 'a' },
          ...{ key: kind === 'key' ? 'credential of 1000' : null, source: expected, method: 'GET' },
          ...{ route: '/fine/:what', path: '/fine/thing', status: 200, bytes: 2, bytesIn: 0, ms: 0 },
        },
      },
    ])
    expect(JSON.stringify(lines)).not.toContain(SECRET)
  })

  test('has no source without a credential, and no route without match', async () => {
    const { api, lines } = apiOf([fine])
    await api(get('/nowhere', { headers: {} }))
    await api(get('/fine/x', { headers: {} }))
    expect(lines.map(({ fields }) => [fields.source, fields.route, fields.status])).toEqual([
      [null, null, 404],
      [null, '/fine/:what', 401],
    ])
  })

  test('has the request bytes that were read', async () => {
    const { api, lines } = apiOf([body])
    await api(get('/body', { method: 'POST', body: bytes('{"a":', '"é"}') }))
    expect(lines[0]?.fields.bytesIn).toBe(10)
  })
})

test('the work of a request has the name of its route', async () => {
  const handler = () => jsonResponse(200, { work: currentWork() })
  const { api } = apiOf([{ method: 'GET', path: '/named/:what', access: 'public', handler }])
  const answer = await underName('not known yet', () => api(get('/named/thing')))
  expect(JSON.parse(String(answer.body))).toEqual({ work: 'GET /named/:what' })
})

describe('failures', () => {
  test('an unknown error is a 500 with the request id, logged completely', async () => {
    const failure = new Error('no such table: records')
    const handler = (): never => {
      throw failure
    }
    const { api, lines } = apiOf([{ method: 'GET', path: '/fails', access: 'public', handler }])
    const answer = await api(get('/fails'))
    expect(answer.status).toBe(500)
    expect(JSON.parse(String(answer.body))).toEqual({
      error: 'Internal Server Error',
      message: 'the request failed inside the node',
      code: 'INTERNAL_ERROR',
      requestId: answer.headers['x-request-id'],
    })
    expect(lines).toMatchObject([{ level: 'error', fields: { err: failure, status: 500 } }])
  })

  test('a disconnected client gets no answer', async () => {
    const gone = new AbortController()
    const handler = async (): Promise<never> => {
      gone.abort()
      throw new Error('the socket closed')
    }
    const { api, lines } = apiOf([{ method: 'GET', path: '/gone', access: 'public', handler }])
    const answer = await api(get('/gone', { signal: gone.signal }))
    expect([answer.status, answer.body]).toEqual([499, null])
    expect(lines).toMatchObject([{ level: 'info', fields: { status: 499 } }])
  })

  test.each([
    ['longer', '3'],
    ['shorter', '20'],
  ])('a body %s than its Content-Length is a 400', async (how, length) => {
    const { api } = apiOf([body])
    const headers = { authorization: SECRET, 'content-length': length }
    const answer = await api(get('/body', { method: 'POST', headers, body: bytes('{"a"', ':1}') }))
    expect(answer.status).toBe(400)
    expect(String(answer.body)).toContain(how)
  })

  test('a buffered body is counted and checked like a stream', async () => {
    const whole: Route = {
      ...{ method: 'POST', path: '/whole', access: 'authenticated' },
      handler: async ({ request }: RequestContext) => jsonResponse(200, { body: String(await request.arrived?.()) }),
    }
    const { api, lines } = apiOf([whole], { failures: 3 })
    const ask = (headers: Record<string, string>) =>
      api(
        get('/whole', {
          ...{ method: 'POST', headers: { authorization: SECRET, ...headers } },
          arrived: async () => Buffer.from('bytes'),
        }),
      )
    const statuses = []
    for (const headers of [
      { 'content-length': '5' },
      { 'content-length': '4' },
      { 'content-length': '6' },
      { 'content-encoding': 'gzip' },
    ]) {
      const { status } = await ask(headers as Record<string, string>)
      statuses.push(status)
    }
    expect(statuses).toEqual([200, 400, 400, 415])
    expect(lines[0]?.fields.bytesIn).toBe(5)
  })

  test('a non-numeric Content-Length is a 400', async () => {
    const { api } = apiOf([body])
    const answer = await api(
      get('/body', { method: 'POST', headers: { authorization: SECRET, 'content-length': 'x' } }),
    )
    expect(answer.status).toBe(400)
  })
})

describe('the order of checks', () => {
  const needsWrite: Route = {
    method: 'POST',
    path: '/write',
    access: 'files:write',
    handler: () => {
      throw new Error('the handler ran')
    },
  }

  test('is route, credential, rate limit, scope, handler', async () => {
    const { api } = apiOf([needsWrite], { requests: 1 })
    const status = async (more: Parameters<typeof get>[1]) => (await api(get('/write', more))).status
    expect(await status({ method: 'PUT', headers: {} })).toBe(405)
    expect(await status({ method: 'POST', headers: {} })).toBe(401)
    expect(await status({ method: 'POST' })).toBe(403)
    expect(await status({ method: 'POST' })).toBe(429)
  })

  test('malformed requests count against an address, valid ones do not', async () => {
    const malformed: Route = {
      ...{ method: 'POST', path: '/malformed/:code', access: 'public' },
      handler: ({ param }: RequestContext) => {
        throw new HoldfastError(param('code') as ErrorCode, 'malformed')
      },
    }
    const { api } = apiOf([malformed, fine], { failures: 3 })
    const status = async (code: ErrorCode, remoteAddress = '10.0.0.1') =>
      (await api(get(`/malformed/${code}`, { method: 'POST', remoteAddress }))).status
    expect(await status('VALIDATION')).toBe(400)
    expect(await status('REQUEST_TOO_LARGE')).toBe(413)
    expect(await status('UNSUPPORTED_MEDIA_TYPE')).toBe(415)
    expect(await status('VALIDATION')).toBe(429)
    expect(await status('NOT_FOUND')).toBe(404)
    expect(await status('VALIDATION', '10.0.0.2')).toBe(400)
    expect((await api(get('/fine/x', { remoteAddress: '10.0.0.1' }))).status).toBe(200)
  })

  test('wrong credentials count against an address, other refused ones do not', async () => {
    const { api } = apiOf([fine])
    const status = async (headers: Record<string, string>, remoteAddress = '10.0.0.1') =>
      (await api(get('/fine/x', { headers, remoteAddress }))).status
    expect(await status({ authorization: 'disabled' })).toBe(403)
    expect(await status({})).toBe(401)
    expect(await status({})).toBe(401)
    expect(await status({})).toBe(429)
    expect(await status({ authorization: SECRET })).toBe(200)
    expect(await status({ authorization: 'disabled' })).toBe(403)
    expect(await status({}, '10.0.0.2')).toBe(401)
  })
})

test('a forwarded request is not counted again', async () => {
  const forwarded = { node: 'b', to: 'a', requestId: 'of b', client: '192.0.2.1', scheme: null, host: null }
  const { api } = apiOf([fine], { requests: 1 })
  const path = '/fine/:what'
  for (let i = 0; i < 3; i++) expect((await api(get(path, { forwarded }))).status).toBe(200)
  expect((await api(get(path))).status).toBe(200)
  expect((await api(get(path))).status).toBe(429)
})

/** Holds the loop until this turn is spent. */
function hold(): void {
  for (const end = performance.now() + 5; performance.now() < end; );
}

test.each(['authenticated', 'public'] as const)('%s requests pass the crowd of another owner', async access => {
  const order: (string | undefined)[] = []
  const handler: PublicRoute['handler'] = ({ request }) => {
    order.push(request.remoteAddress)
    return jsonResponse(200, {})
  }
  const { api } = apiOf([{ method: 'GET', path: '/held', access, handler }])
  turnSpent()
  hold()
  const other = { remoteAddress: '10.0.0.2', headers: { authorization: 'other account' } }
  await Promise.all([...Array.from({ length: 20 }, () => api(get('/held'))), api(get('/held', other))])
  expect(order.indexOf('10.0.0.2')).toBeLessThanOrEqual(1)
  expect(order).toHaveLength(21)
})

test('an aborted request that waits for its turn runs no handler', async () => {
  let handled = 0
  const handler: PublicRoute['handler'] = () => {
    handled++
    return jsonResponse(200, {})
  }
  const { api } = apiOf([{ method: 'GET', path: '/held', access: 'public', handler }])
  const gone = new AbortController()
  turnSpent()
  hold()
  const answer = api(get('/held', { signal: gone.signal }))
  gone.abort()
  expect((await answer).status).toBe(499)
  expect(handled).toBe(0)
})
