import { expect, test } from 'vitest'
import { toFetch } from '../../../adapters/fetch/index.ts'
import type { ApiHandler, ApiRequest } from '../../../src/index.ts'

const nothing: ApiHandler = async () => ({ status: 404, headers: {}, body: 'nothing' })

test('method, path, query, headers, body, signal and address arrive as sent', async () => {
  const requests: ApiRequest[] = []
  const bodies: string[] = []
  const api: ApiHandler = async request => {
    requests.push(request)
    const chunks: Uint8Array[] = []
    for await (const chunk of request.body) chunks.push(chunk)
    bodies.push(Buffer.concat(chunks).toString())
    return { status: 201, headers: { 'x-from': 'engine' }, body: 'made' }
  }
  const answer = toFetch({ api, gateway: nothing }, { prefix: '/pins/', remoteAddress: () => '192.0.2.1' })
  const abort = new AbortController()
  const init = { method: 'PUT', headers: { 'X-One': 'first' }, body: 'content', signal: abort.signal }
  const response = await answer(new Request('http://storage.example:81/pins/api/a%20b/?x=1&y=%C3%A9', init))
  expect([response.status, response.headers.get('x-from'), await response.text()]).toEqual([201, 'engine', 'made'])
  const [request] = requests
  expect(request).toMatchObject({ method: 'PUT', path: '/api/a%20b/', query: 'x=1&y=%C3%A9' })
  expect([request?.header('x-one'), request?.header('x-two')]).toEqual(['first', undefined])
  expect([request?.header('host'), request?.remoteAddress, bodies]).toEqual([
    'storage.example:81',
    '192.0.2.1',
    ['content'],
  ])
  abort.abort()
  expect(request?.signal.aborted).toBe(true)
})

test('a request with two Host headers is refused', async () => {
  const answer = toFetch({ api: nothing, gateway: nothing })
  const headers = [
    ['host', 'one.example'],
    ['host', 'two.example'],
  ] as [string, string][]
  const response = await answer(new Request('http://one.example/', { headers }))
  expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ code: 'VALIDATION' })])
})

test('refuses a request whose body the host has read, or still reads', async () => {
  const api: ApiHandler = async ({ body }) => {
    for await (const _ of body);
    return { status: 201, headers: {}, body: 'made' }
  }
  const read = new Request('http://localhost/', { method: 'PUT', body: 'content' })
  const reader = read.body?.getReader()
  await reader?.read()
  reader?.releaseLock()
  const locked = new Request('http://localhost/', { method: 'PUT', body: 'content' })
  locked.body?.getReader()
  for (const request of [read, locked]) {
    await expect(toFetch({ api, gateway: nothing })(request)).rejects.toMatchObject({ code: 'VALIDATION' })
  }
})

test('routes /ipfs to the gateway and the rest to the API', async () => {
  const named = (name: string): ApiHandler => {
    return async ({ path }) => ({ status: 200, headers: {}, body: `${name} ${path}` })
  }
  const answer = toFetch({ api: named('api'), gateway: named('gateway') }, { prefix: '/pins' })
  const get = async (path: string): Promise<string> => (await answer(new Request(`http://localhost${path}`))).text()
  expect(await get('/pins/ipfs/bafy/a')).toBe('gateway /ipfs/bafy/a')
  expect(await get('/pins/ipfs')).toBe('gateway /ipfs')
  expect(await get('/pins/ipfsx')).toBe('api /ipfsx')
  expect(await get('/pinsx/ipfs/bafy')).toBe('api //')
  expect(await get('/ipfs/bafy')).toBe('api //')
})

/** A body that counts the chunks that are pulled. */
function counted(): { pulled: number; closed: boolean; handler: ApiHandler } {
  const seen = { pulled: 0, closed: false, handler: nothing }
  const body = async function* () {
    try {
      for (let i = 0; i < 1_000; i++) {
        seen.pulled++
        if (i === 500) throw new Error('damaged')
        yield Buffer.alloc(10)
      }
    } finally {
      seen.closed = true
    }
  }
  seen.handler = async () => ({ status: 200, headers: {}, body: body() })
  return seen
}

test('pulls a body as it is read and closes it', async () => {
  const seen = counted()
  const response = await toFetch({ api: seen.handler, gateway: nothing })(new Request('http://localhost/'))
  expect(seen.pulled).toBe(0)
  const reader = response.body?.getReader()
  await reader?.read()
  await reader?.read()
  expect(seen.pulled).toBe(2)
  await reader?.cancel()
  expect(seen.closed).toBe(true)
})

test('passes the error of a body to its reader', async () => {
  const seen = counted()
  const response = await toFetch({ api: seen.handler, gateway: nothing })(new Request('http://localhost/'))
  await expect(response.arrayBuffer()).rejects.toThrow('damaged')
  expect(seen.closed).toBe(true)
})
