import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastify from 'fastify'
import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import { frameworkErrors, holdfast } from '../../adapters/fastify/index.ts'
import { type FetchHandler, toFetch } from '../../adapters/fetch/index.ts'
import { createServer } from '../../adapters/node-http/index.ts'
import {
  type Account,
  type ApiRequest,
  type Clock,
  createEngine,
  type Engine,
  type EngineOptions,
  SCOPES,
} from '../../src/index.ts'
import { newDirectory } from '../support/new-database.ts'
import { auditSignIn } from './trusting-provider.ts'
import { type Actor, type Answer, type AuditClient, auditPlans, type RequestOptions, type World } from './world.ts'

/** A way of serving an engine. All must fulfil the same contract. */
export interface Host {
  name: string
  /** Serves the engine. `close` ends the serving, but not the engine. */
  serve(engine: Engine): Promise<{ client: AuditClient; close(): Promise<void> }>
}

export const hosts: readonly Host[] = [
  {
    name: 'in-process',
    serve: async engine => ({
      client: { request: (method, path, options = {}) => callEngine(engine, method, path, options) },
      close: async () => {},
    }),
  },
  {
    name: 'node:http',
    serve: async engine => {
      const server = createServer(engine)
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { client, agent } = clientOf(server)
      return {
        client,
        close: async () => {
          agent.destroy()
          server.closeAllConnections()
          server.close()
          await once(server, 'close')
        },
      }
    },
  },
  {
    name: 'fastify',
    serve: async engine => {
      const app = fastify({ frameworkErrors: frameworkErrors({ engine }), forceCloseConnections: true })
      await app.register(holdfast, { engine })
      await app.listen({ port: 0, host: '127.0.0.1' })
      const { client, agent } = clientOf(app.server)
      return {
        client,
        close: async () => {
          agent.destroy()
          await app.close()
        },
      }
    },
  },
  {
    name: 'fetch',
    serve: async engine => {
      const answer = toFetch(engine, { remoteAddress: () => '127.0.0.1' })
      return {
        client: { request: (method, path, options = {}) => callFetch(answer, method, path, options) },
        close: async () => {},
      }
    },
  },
]

/** Returns a client that reuses its connection to a server. */
export function clientOf(server: http.Server): { client: AuditClient; agent: http.Agent } {
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const agent = new http.Agent({ keepAlive: true })
  const { port } = address
  return {
    client: { request: (method, path, options = {}) => callServer(agent, port, method, path, options) },
    agent,
  }
}

/** Configuration of the audited engine. */
export const auditConfig = {
  plans: auditPlans,
  signup: { enabled: true, plan: 'premium' },
  passwordCost: 1_024,
  uploads: { fromUrls: 'any' as const }, // feature: url-uploads
}

/** Start of the audits' clocks, in milliseconds since the epoch. */
export const AUDITS_BEGIN = Date.UTC(2026, 0, 15, 12)

/** Starts an engine as the audits expect it. The caller stops it. */
export function auditEngine(dataDir: string, clock: AuditClock, options: Partial<EngineOptions> = {}): Promise<Engine> {
  const directory = newDirectory(dataDir)
  return createEngine({ ...serverAdapters, dataDir: directory, clock, ...auditConfig, ...auditSignIn, ...options })
}

/** Starts an engine behind a host. The caller closes it, which deletes its data directory. */
export async function openWorld(
  host: Host,
  options: Partial<EngineOptions> = {},
  clock = new AuditClock(AUDITS_BEGIN),
): Promise<World & { close(): Promise<void> }> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'holdfast-audit-')))
  const engine = await auditEngine(dataDir, clock, options)
  const { client, close } = await host.serve(engine)
  return {
    ...worldOf(engine, client, clock),
    close: async () => {
      await close()
      await engine.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Returns a world that sends requests through a client, and creates accounts through the engine. */
export function worldOf(engine: Engine, client: AuditClient, clock: AuditClock): World {
  const [importRoot = ''] = engine.importRoots
  let actors = 0
  return {
    client,
    importRoot,
    now: () => clock.now(),
    advance: ms => clock.advance(ms),
    disable: async actor => {
      await engine.accounts.setDisabled(actor.id, true)
    },
    setPassword: (actor, password) => engine.accounts.setPassword(actor.id, password),
    passwordLink: async actor => (await engine.accounts.makePasswordLink(actor.id)).token,
    actor: async (plan = 'unlimited') => {
      actors += 1
      const account = await engine.accounts.create({ email: `actor-${actors}@example.org`, plan })
      const { secret } = await engine.keys.create(account.id, { name: 'main', scopes: SCOPES })
      return actorOf(engine, client, account, secret)
    },
  }
}

function actorOf(engine: Engine, client: AuditClient, { id, email }: Account, secret: string): Actor {
  const auth = { authorization: `Bearer ${secret}` }
  return {
    id,
    email,
    secret,
    auth,
    request: (method, path, options = {}) =>
      client.request(method, path, { ...options, headers: { ...auth, ...options.headers } }),
    key: async input => (await engine.keys.create(id, input)).secret,
  }
}

/** A clock that stands still until it is moved, and then fires the timers due. */
export class AuditClock implements Clock {
  #now: number
  #timers = new Set<{ at: number; callback: () => void }>()

  constructor(now: number) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  async advance(ms: number): Promise<void> {
    this.#now += ms
    for (const timer of [...this.#timers].filter(({ at }) => at <= this.#now)) {
      this.#timers.delete(timer)
      timer.callback()
    }
    // A timer may queue a write a turn later.
    for (let turns = 0; turns < 3; turns++) await new Promise(resolve => setImmediate(resolve))
  }
}

async function callEngine(engine: Engine, method: string, path: string, options: RequestOptions): Promise<Answer> {
  const headers = announced(options)
  const [pathname = '', query = ''] = path.split('?', 2)
  const request: ApiRequest = {
    method,
    path: pathname,
    query,
    header: name => headers[name],
    body: chunksOf(options.body ?? ''),
    signal: new AbortController().signal,
    remoteAddress: '127.0.0.1',
  }
  const response = await (pathname.startsWith('/ipfs/') ? engine.gateway : engine.api)(request)
  const chunks: Uint8Array[] = []
  if (typeof response.body === 'string' || response.body instanceof Uint8Array) chunks.push(Buffer.from(response.body))
  else if (response.body !== null) for await (const chunk of response.body) chunks.push(Buffer.from(chunk))
  return answerOf(response.status, name => response.headers[name], Buffer.concat(chunks))
}

async function* chunksOf(body: string | Uint8Array): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(body)
  for (let at = 0; at < bytes.length; at += 16_384) yield bytes.subarray(at, at + 16_384)
}

function callServer(
  agent: http.Agent,
  port: number,
  method: string,
  path: string,
  options: RequestOptions,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = http.request({ agent, host: '127.0.0.1', port, method, path, headers: announced(options) })
    outgoing.on('error', reject)
    outgoing.on('response', async incoming => {
      const chunks: Uint8Array[] = []
      for await (const chunk of incoming) chunks.push(chunk)
      const header = (name: string): string | undefined => incoming.headers[name]?.toString()
      resolve(answerOf(incoming.statusCode ?? 0, header, Buffer.concat(chunks)))
    })
    outgoing.end(options.body)
  })
}

async function callFetch(answer: FetchHandler, method: string, path: string, options: RequestOptions): Promise<Answer> {
  const body = options.body === undefined || method === 'GET' || method === 'HEAD' ? null : Buffer.from(options.body)
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: announced(options),
    body,
  })
  const response = await answer(request)
  const bytes = Buffer.from(await response.arrayBuffer())
  return answerOf(response.status, name => response.headers.get(name) ?? undefined, bytes)
}

function announced({ headers = {}, body, chunked = false }: RequestOptions): Record<string, string> {
  if (chunked) return { ...headers, 'transfer-encoding': 'chunked' }
  return body === undefined ? headers : { 'content-length': String(Buffer.byteLength(body)), ...headers }
}

function answerOf(status: number, header: (name: string) => string | undefined, body: Buffer): Answer {
  return {
    status,
    header,
    body,
    get json() {
      assert.match(header('content-type') ?? '', /^application\/json\b/, `${status} ${body.toString()}`)
      return JSON.parse(body.toString())
    },
  }
}
