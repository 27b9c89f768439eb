import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fastify, { type FastifyInstance } from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { frameworkErrors, holdfast } from '../../../adapters/fastify/index.ts'
import type { ApiHandler, ApiResponse } from '../../../src/index.ts'

const ROOT = join(import.meta.dirname, '../../..')
const closers: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

function text(status: number, body: string): ApiResponse {
  return { status, headers: { 'content-type': 'text/plain', 'x-from': 'engine' }, body }
}

const echo: ApiHandler = async ({ method, path, query, body }) => {
  let length = 0
  for await (const chunk of body) length += chunk.length
  return text(200, `${method} ${path} ${query} ${length}`)
}

const engine = { api: echo, gateway: echo }

async function listen(app: FastifyInstance): Promise<string> {
  closers.push(() => app.close())
  return app.listen({ port: 0, host: '127.0.0.1' })
}

describe('the plugin', () => {
  test('is mounted at its prefix only, nested or not', async () => {
    const app = fastify()
    app.register(holdfast, { engine, prefix: '/pins' })
    app.register(
      (scope, _options, done) => {
        scope.register(holdfast, { engine, prefix: '/deep' })
        done()
      },
      { prefix: '/nested' },
    )
    const url = await listen(app)
    const get = async (path: string): Promise<string> => (await fetch(url + path)).text()
    expect(await get('/pins/api/v3/a%2Fb?x=%20')).toBe('GET /api/v3/a%2Fb x=%20 0')
    expect(await get('/nested/deep/ipfs/bafy/')).toBe('GET /ipfs/bafy/  0')
    expect((await fetch(`${url}/api/v3`)).status).toBe(404)
    expect(await get('/elsewhere')).toContain('Route GET:/elsewhere not found')
  })

  test('accepts every method and paths of any length', async () => {
    const app = fastify()
    app.register(holdfast, { engine })
    const url = await listen(app)
    const long = `/api/v3/${'x'.repeat(4_000)}`
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      expect(await (await fetch(url + long, { method })).text()).toBe(`${method} ${long}  0`)
    }
    expect((await fetch(url + long, { method: 'HEAD' })).headers.get('x-from')).toBe('engine')
  })

  test('streams any body past the host’s parsers and limits', async () => {
    const app = fastify({ bodyLimit: 1_000 })
    app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, `host ${body.length}`))
    app.post('/host', async request => request.body)
    app.register(holdfast, { engine, prefix: '/pins' })
    const url = await listen(app)
    const post = async (path: string, type: string | undefined, body: Uint8Array): Promise<string> => {
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type }
      return (await fetch(url + path, { method: 'POST', headers, body })).text()
    }
    const bytes = new Uint8Array(3_000_000)
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', 'nonsense', undefined]) {
      expect(await post('/pins/api', type, bytes)).toBe('POST /api  3000000')
    }
    expect(await post('/pins/api', 'application/json', new Uint8Array())).toBe('POST /api  0')
    expect(await post('/host', 'text/csv', new Uint8Array(10))).toBe('host 10')
    expect(await post('/host', 'text/csv', new Uint8Array(2_000))).toContain('FST_ERR_CTP_BODY_TOO_LARGE')
    expect(await post('/host', 'nonsense', new Uint8Array(10))).toContain('FST_ERR_CTP_INVALID_MEDIA_TYPE')
  })

  test('lets hooks of the host see, mark and refuse requests', async () => {
    const app = fastify()
    const seen: string[] = []
    app.addHook('onRequest', async (request, reply) => {
      reply.header('x-host', 'was here')
      reply.header('x-from', 'host')
      if (request.headers['x-refuse'] !== undefined) throw Object.assign(new Error('not you'), { statusCode: 418 })
    })
    app.addHook('onResponse', async (request, reply) => {
      seen.push(`${request.url} ${reply.raw.statusCode}`)
    })
    app.setErrorHandler((error, _request, reply) => reply.code(418).send(`host: ${String(error)}`))
    app.get('/host', async () => 'host')
    app.get('/fail', async () => {
      throw new Error('of the host')
    })
    app.register(holdfast, { engine, prefix: '/pins' })
    const url = await listen(app)

    const answer = await fetch(`${url}/pins/api`)
    expect([answer.headers.get('x-host'), answer.headers.get('x-from')]).toEqual(['was here', 'engine'])
    const refused = await fetch(`${url}/pins/api`, { headers: { 'x-refuse': 'yes' } })
    expect([refused.status, await refused.text()]).toEqual([418, 'host: Error: not you'])
    expect(await (await fetch(`${url}/host`)).text()).toBe('host')
    expect(await (await fetch(`${url}/fail`)).text()).toBe('host: Error: of the host')
    await expect.poll(() => seen).toEqual(['/pins/api 200', '/pins/api 418', '/host 200', '/fail 418'])
  })

  test('is hidden from descriptions of the host’s routes', async () => {
    const described = new Map<string, unknown>()
    const app = fastify()
    app.addHook('onRoute', ({ url, schema }) => {
      described.set(url, (schema as { hide?: boolean } | undefined)?.hide)
    })
    app.get('/host', async () => 'host')
    app.register(holdfast, { engine, prefix: '/pins' })
    await app.ready()
    expect(Object.fromEntries(described)).toEqual({ '/host': undefined, '/pins/*': true })
    await app.close()
  })

  test('appears in the log of the host', async () => {
    const lines: string[] = []
    const app = fastify({ logger: { stream: { write: line => void lines.push(line) } } })
    app.register(holdfast, { engine, prefix: '/pins' })
    const url = await listen(app)
    await (await fetch(`${url}/pins/api`)).text()
    await expect.poll(() => lines.some(line => line.includes('request completed'))).toBe(true)
    expect(lines.filter(line => line.includes('/pins/api'))).toHaveLength(1)
  })

  test('answers malformed percent-encoding below its prefix if configured', async () => {
    const options = { engine, prefix: '/pins' }
    const app = fastify({ frameworkErrors: frameworkErrors(options) })
    app.register(holdfast, options)
    const url = new URL(await listen(app))
    const get = async (path: string, more = ''): Promise<string> => {
      const socket = connect(Number(url.port), url.hostname)
      socket.end(`GET ${path} HTTP/1.1\r\nHost: h\r\n${more}Connection: close\r\n\r\n`)
      let received = ''
      socket.setEncoding('utf8').on('data', chunk => {
        received += chunk
      })
      await once(socket, 'close')
      return received
    }
    expect(await get('/pins/api/%zz')).toContain('GET /api/%zz  0')
    expect(await get('/other/%zz')).toContain('FST_ERR_BAD_URL')
    expect(await get('/pins/api', 'Host: i\r\n')).toMatch(/^HTTP\/1\.1 400 .*"code":"VALIDATION"/s)
  })

  test('sends an early answer that the client can read', async () => {
    const refuse: ApiHandler = async () => text(413, 'too large')
    const app = fastify()
    app.register(holdfast, { engine: { api: refuse, gateway: refuse } })
    const answer = await fetch(`${await listen(app)}/api`, { method: 'POST', body: new Uint8Array(8_000_000) })
    expect([answer.status, await answer.text()]).toEqual([413, 'too large'])
  })

  test('aborts a request when its client disconnects', async () => {
    const outcome = Promise.withResolvers<boolean>()
    const reading = Promise.withResolvers<void>()
    const api: ApiHandler = async ({ body, signal }) => {
      try {
        for await (const _ of body) reading.resolve()
      } catch {
        outcome.resolve(signal.aborted)
      }
      return { status: 499, headers: {}, body: null }
    }
    const app = fastify()
    app.register(holdfast, { engine: { api, gateway: api } })
    const url = new URL(await listen(app))
    const socket = connect(Number(url.port), url.hostname)
    socket.write('POST /api HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nsome')
    await reading.promise
    socket.destroy()
    expect(await outcome.promise).toBe(true)
  })
})

test('no entry point of the package loads fastify', async () => {
  const refuse = `
    import { registerHooks } from 'node:module'
    registerHooks({ resolve(specifier, context, next) {
      if (/^fastify($|\\/)/.test(specifier)) throw new Error('asked for ' + specifier)
      return next(specifier, context)
    } })`
  const load = `
    const entries = ['./src/index.ts', './adapters/node-http/index.ts', './adapters/fastify/index.ts', './adapters/fetch/index.ts']
    const loaded = await Promise.all(entries.map(entry => import(entry)))
    console.log(loaded.map(entry => Object.keys(entry).length > 0).join())
    await import('fastify').catch(error => console.log(error.message))`
  const hooks = `data:text/javascript,${encodeURIComponent(refuse)}`
  const args = ['--no-warnings', '--import', hooks, '--input-type=module', '-e', load]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT })
  expect(stdout).toBe('true,true,true,true\nasked for fastify\n')
})
