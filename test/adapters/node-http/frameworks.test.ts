import { once } from 'node:events'
import http, { type RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import connect from 'connect'
import express from 'express'
import { Hono } from 'hono'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'
import { toFetch } from '../../../adapters/fetch/index.ts'
import { createHandler, type NodeHandler } from '../../../adapters/node-http/index.ts'
import { type Engine, SCOPES } from '../../../src/index.ts'
import { withEngine } from '../../support/test-engine.ts'

async function withServer(listener: RequestListener, run: (url: string) => Promise<void>): Promise<void> {
  const server = http.createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  try {
    await run(`http://127.0.0.1:${address.port}`)
  } finally {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
}

/** The engine below `/pins`, the app's own route behind it. */
const frameworks: Record<string, (engine: Engine) => RequestListener> = {
  'Express, which strips the prefix': engine => {
    const app = express()
    app.use('/pins', createHandler(engine))
    app.use(express.json())
    app.post('/own', (request, response) => void response.json({ own: request.body }))
    return app
  },
  'Express, which leaves the prefix to the handler': engine => {
    const app = express()
    app.use(createHandler(engine, { prefix: '/pins' }))
    app.use(express.json())
    app.post('/own', (request, response) => void response.json({ own: request.body }))
    return app
  },
  Connect: engine => {
    const app = connect()
    app.use(createHandler(engine, { prefix: '/pins' }))
    app.use('/own', (_request, response) => void response.end('{"own":{"x":1}}'))
    return app
  },
  Koa: engine => {
    const app = new Koa()
    const handle = createHandler(engine, { prefix: '/pins' })
    app.use((context, next) => {
      if (!context.path.startsWith('/pins/')) return next()
      context.respond = false
      return handle(context.req, context.res)
    })
    app.use(context => {
      if (context.path === '/own') context.body = { own: { x: 1 } }
    })
    return app.callback()
  },
  Hono: engine => {
    const app = new Hono()
    const answer = toFetch(engine, { prefix: '/pins' })
    app.all('/pins/*', context => answer(context.req.raw))
    app.post('/own', async context => context.json({ own: await context.req.json() }))
    return getRequestListener(app.fetch)
  },
}

describe.each(Object.entries(frameworks))('in %s', (_, mount) => {
  test('requests with bodies are answered beside the app’s own routes', async () => {
    await withEngine(async ({ engine, account }) => {
      const { secret } = await engine.keys.create(account, { name: 'test', scopes: SCOPES })
      await withServer(mount(engine), url => exercise(url, secret))
    })
  })
})

async function exercise(url: string, secret: string): Promise<void> {
  const json = { 'content-type': 'application/json' }
  const key = { 'x-api-key': secret }
  const form = new FormData()
  form.append('file', new Blob([new Uint8Array(300_000)]), 'a.bin')
  const uploaded = await fetch(`${url}/pins/api/v3/files`, { method: 'POST', headers: key, body: form })
  expect(uploaded.status).toBe(201)
  const { cid } = (await uploaded.json()) as { cid: string }
  expect((await (await fetch(`${url}/pins/ipfs/${cid}`)).arrayBuffer()).byteLength).toBe(300_000)

  const token = { method: 'POST', headers: { ...key, ...json }, body: '{"name":"made"}' }
  const made = await fetch(`${url}/pins/api/v3/tokens/generate`, token)
  expect([made.status, await made.json()]).toMatchObject([201, { name: 'made' }])

  const nothing = await fetch(`${url}/pins/nothing`, { method: 'POST', body: 'x' })
  expect([nothing.status, await nothing.json()]).toMatchObject([404, { code: 'NOT_FOUND' }])
  const own = await fetch(`${url}/own`, { method: 'POST', headers: json, body: '{"x":1}' })
  expect(await own.json()).toEqual({ own: { x: 1 } })
  expect((await fetch(`${url}/elsewhere`)).status).toBe(404)
  expect((await fetch(`${url}/pinsx/api/v3`)).status).toBe(404)
}

test('next is called once, outside the prefix only, without an answer', async () => {
  const api = async () => ({ status: 200, headers: {}, body: 'api' })
  const handle: NodeHandler = createHandler({ api, gateway: api }, { prefix: '/pins' })
  const passed: (string | undefined)[] = []
  const listener: RequestListener = (incoming, outgoing) =>
    handle(incoming, outgoing, () => {
      passed.push(incoming.url)
      outgoing.end('next')
    })
  await withServer(listener, async url => {
    for (const path of ['/', '/pins', '/pinsx/', '/other?x=/pins/']) {
      expect(await (await fetch(url + path, { method: 'POST', body: 'x' })).text()).toBe('next')
    }
    for (const path of ['/pins/', '/pins/ipfs/x', '/pins/nothing']) {
      expect(await (await fetch(url + path, { method: 'POST', body: 'x' })).text()).toBe('api')
    }
  })
  expect(passed).toEqual(['/', '/pins', '/pinsx/', '/other?x=/pins/'])
})

test('a body that a parser has consumed is reported', async () => {
  await withEngine(async ({ engine, account }) => {
    const { secret } = await engine.keys.create(account, { name: 'test', scopes: SCOPES })
    const app = express()
    app.use(express.json())
    app.use(createHandler(engine))
    await withServer(app, async url => {
      const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
      const made = await fetch(`${url}/api/v3/tokens/generate`, { method: 'POST', headers, body: '{"name":"made"}' })
      expect(made.status).toBe(400)
      expect(await made.json()).toMatchObject({
        code: 'VALIDATION',
        message: expect.stringContaining('read before it reached'),
      })
    })
  })
})
