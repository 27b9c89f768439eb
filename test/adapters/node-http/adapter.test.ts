import { once } from 'node:events'
import http from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import {
  createGatewayServer,
  createHandler,
  createMetricsServer,
  createServer,
  PrometheusMetrics,
  type ServedEngine,
} from '../../../adapters/node-http/index.ts'
import type { ApiHandler, ApiResponse } from '../../../src/index.ts'

const closers: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

function text(status: number, body: string): ApiResponse {
  return { status, headers: { 'content-type': 'text/plain' }, body }
}

const nothing: ApiHandler = async () => text(404, 'nothing')

async function listen(server: http.Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return portOf(server)
}

function portOf(server: http.Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

function serve(engine: Partial<ServedEngine>, prefix?: string): Promise<number> {
  const options = prefix === undefined ? {} : { prefix }
  return listen(createServer({ api: engine.api ?? nothing, gateway: engine.gateway ?? nothing }, options))
}

/** A socket and everything received on it. */
async function raw(
  port: number,
): Promise<{ socket: Socket; received: () => string; until(text: string): Promise<void> }> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  closers.push(() => {
    socket.destroy()
  })
  let bytes = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    bytes += chunk
  })
  socket.on('error', () => {})
  const until = async (wanted: string): Promise<void> => {
    while (!bytes.includes(wanted)) {
      if (socket.readableEnded || socket.destroyed) throw new Error(`closed before "${wanted}": ${bytes}`)
      await Promise.race([once(socket, 'data'), once(socket, 'close')])
    }
  }
  return { socket, received: () => bytes, until }
}

async function bodyText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString()
}

describe('translation', () => {
  const echo: ApiHandler = async ({ method, path, query, header, body, remoteAddress }) =>
    text(200, JSON.stringify({ method, path, query, one: header('x-one'), body: await bodyText(body), remoteAddress }))

  test('method, path, query, headers, body and address arrive as sent', async () => {
    const port = await serve({ api: echo })
    const answer = await fetch(`http://127.0.0.1:${port}/api/v3/a%20b/?x=1&y=%C3%A9`, {
      method: 'POST',
      headers: { 'X-One': 'first' },
      body: 'content',
    })
    expect(await answer.json()).toEqual({
      ...{ method: 'POST', path: '/api/v3/a%20b/', query: 'x=1&y=%C3%A9' },
      ...{ one: 'first', body: 'content', remoteAddress: '127.0.0.1' },
    })
  })

  test('the gateway has /ipfs and the API the rest, below the prefix', async () => {
    const gateway: ApiHandler = async ({ path }) => text(200, `gateway ${path}`)
    const api: ApiHandler = async ({ path }) => text(200, `api ${path}`)
    const port = await serve({ api, gateway }, '/pinning/')
    const get = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${port}${path}`)).text()
    expect(await get('/pinning/ipfs/bafy/a')).toBe('gateway /ipfs/bafy/a')
    expect(await get('/pinning/ipfs')).toBe('gateway /ipfs')
    expect(await get('/pinning/api/v3')).toBe('api /api/v3')
    expect(await get('/pinning/ipfsx')).toBe('api /ipfsx')
    expect(await get('/api/v3')).toBe('api //')
    expect(await get('/pinningx/api/v3')).toBe('api //')
  })

  test('the handler works in a server of the host', async () => {
    const handler = createHandler({ api: echo, gateway: nothing })
    const port = await listen(http.createServer(handler))
    const answer = await fetch(`http://127.0.0.1:${port}/x`, { method: 'PUT', body: 'mine' })
    expect(await answer.json()).toMatchObject({ method: 'PUT', path: '/x', body: 'mine' })
  })

  test('a connection survives answers without a body, a HEAD, and read bodies', async () => {
    const port = await serve({ api: echo })
    const { socket, received, until } = await raw(port)
    socket.write('GET /1 HTTP/1.1\r\nHost: h\r\n\r\n')
    await until('HTTP/1.1 200')
    socket.write('HEAD /2 HTTP/1.1\r\nHost: h\r\n\r\nPOST /3 HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx')
    await until('"path":"/3"')
    expect(received().match(/HTTP\/1.1 200/g)).toHaveLength(3)
    expect(received().toLowerCase()).not.toContain('connection: close')
  })
})

test('a client that half-closes after its request gets an answer', async () => {
  const api: ApiHandler = async ({ body }) => {
    const read = await bodyText(body)
    await new Promise(resolve => setTimeout(resolve, 50))
    return text(200, `read ${read}`)
  }
  const port = await serve({ api })
  const { socket, until } = await raw(port)
  socket.end('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody')
  await until('read body')
  await once(socket, 'close')
})

test('HTTP/1.1 without Host is refused in JSON, HTTP/1.0 is not', async () => {
  const port = await serve({ api: async () => text(200, 'answered') })
  const first = await raw(port)
  first.socket.write('GET / HTTP/1.1\r\n\r\n')
  await first.until('}')
  expect(first.received()).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
  expect(JSON.parse(first.received().split('\r\n\r\n')[1] ?? '')).toMatchObject({ code: 'VALIDATION' })
  const second = await raw(port)
  second.socket.write('GET / HTTP/1.0\r\n\r\n')
  await second.until('answered')
})

test('two Host headers are refused in JSON, on every server and mount', async () => {
  const engine = { api: nothing, gateway: nothing }
  const servers = {
    server: createServer(engine),
    gateway: createGatewayServer(nothing),
    metrics: createMetricsServer({}, new PrometheusMetrics()),
    mount: http.createServer(createHandler(engine)),
  }
  for (const [name, server] of Object.entries(servers)) {
    for (const version of ['1.1', '1.0']) {
      const { socket, received, until } = await raw(server.listening ? portOf(server) : await listen(server))
      socket.write(`GET / HTTP/${version}\r\nHost: h\r\nHOST: h\r\n\r\n`)
      await until('}')
      expect(received(), name).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
      expect(received(), name).toContain('"code":"VALIDATION"')
    }
  }
})

describe('bodies', () => {
  test('an early answer is readable, and the connection then closes', async () => {
    const port = await serve({ api: async () => text(413, 'too large') })
    const { socket, received, until } = await raw(port)
    socket.write('POST /files HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n')
    await until('too large')
    expect(received()).toContain('HTTP/1.1 413')
    expect(received().toLowerCase()).toContain('connection: close')
    // The server discards what the client still sends, so that no reset destroys the answer.
    expect(socket.destroyed).toBe(false)
    socket.write(Buffer.alloc(3_000_000))
    await once(socket, 'end')
  })

  test('100 Continue is sent only when the body is wanted', async () => {
    const port = await serve({
      api: async ({ path, body }) => (path === '/refuse' ? text(413, 'refused') : text(201, await bodyText(body))),
    })
    const head = (path: string) =>
      `POST ${path} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n`
    const wanted = await raw(port)
    wanted.socket.write(head('/take'))
    await wanted.until('HTTP/1.1 100 Continue\r\n\r\n')
    wanted.socket.write('body')
    await wanted.until('HTTP/1.1 201')

    const refused = await raw(port)
    refused.socket.write(head('/refuse'))
    await once(refused.socket, 'end')
    expect(refused.received()).toMatch(/^HTTP\/1.1 413/)
    expect(refused.received()).toContain('refused')
  })

  test('a client that disconnects fails the body and aborts the signal', async () => {
    const outcome = Promise.withResolvers<string>()
    const started = Promise.withResolvers<void>()
    const port = await serve({
      api: async ({ body, signal }) => {
        try {
          for await (const _ of body) started.resolve()
          outcome.resolve('the body ended')
        } catch {
          outcome.resolve(signal.aborted ? 'aborted' : 'an error, but no signal')
        }
        return { status: 499, headers: {}, body: null }
      },
    })
    const { socket } = await raw(port)
    socket.write('POST /files HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nsome')
    await started.promise
    socket.destroy()
    expect(await outcome.promise).toBe('aborted')
  })

  test('a streamed answer waits for its reader, and closes with it', async () => {
    let produced = 0
    const closed = Promise.withResolvers<void>()
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          produced += 1
          yield Buffer.alloc(64 * 1024)
        }
      } finally {
        closed.resolve()
      }
    }
    const port = await serve({ gateway: async () => ({ status: 200, headers: {}, body: endless() }) })
    const { socket, until } = await raw(port)
    socket.write('GET /ipfs/x HTTP/1.1\r\nHost: h\r\n\r\n')
    await until('HTTP/1.1 200')
    socket.pause()
    // The buffers of both sockets bound it; with an unpaced producer this test would never continue.
    await fetch(`http://127.0.0.1:${port}/api/v3`)
    expect(produced).toBeLessThan(1_000)
    socket.destroy()
    await closed.promise
  })

  test('an answer that fails half-way is cut off', async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half')
      throw new Error('the block is damaged')
    }
    const port = await serve({ gateway: async () => ({ status: 200, headers: {}, body: failing() }) })
    const read = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/ipfs/x`)).text()
    await expect(read()).rejects.toThrow()
  })
})

describe('an invalid request gets a JSON answer', () => {
  test.each([
    ['garbage', 'GARBAGE\r\n\r\n', 400],
    ['headers that are too large', `GET / HTTP/1.1\r\nHost: h\r\nX-Big: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ['a length that is no number', 'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: abc\r\n\r\n', 400],
  ])('%s', async (_, bytes, status) => {
    const { socket, received } = await raw(await serve({}))
    socket.write(bytes)
    await once(socket, 'end')
    const [head = '', body = ''] = received().split('\r\n\r\n')
    expect(head).toContain(`HTTP/1.1 ${status} `)
    expect(head).toContain('application/json')
    expect(Object.keys(JSON.parse(body))).toEqual(['error', 'message', 'code'])
  })

  test('a broken chunk in a body is a 400', async () => {
    const port = await serve({ api: async ({ body }) => text(200, await bodyText(body)) })
    const { socket, received } = await raw(port)
    socket.write('POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n')
    await once(socket, 'end')
    expect(received()).toContain('HTTP/1.1 400')
  })
})
