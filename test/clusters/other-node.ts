import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from '../../adapters/node-http/index.ts'
import { createEngine, type Engine, SCOPES } from '../../src/index.ts'

/** Holds or refuses a request; resolves when it may continue. */
export type Gate = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void

/** Another node in this process behind a real server. It can stop and start again at the same address. */
export class OtherNode implements AsyncDisposable {
  readonly dataDir: string
  key = ''
  account = ''
  /** Method and path of each request, without query. */
  readonly asked: string[] = []
  gate: Gate = () => undefined
  #port = 0
  #engine: Engine | null = null
  #server: Server | null = null

  constructor(dataDir: string) {
    this.dataDir = dataDir
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/api/v3`
  }

  get engine(): Engine {
    assert.ok(this.#engine !== null)
    return this.#engine
  }

  async start(): Promise<this> {
    const engine = await createEngine({ dataDir: this.dataDir })
    this.#engine = engine
    if (this.key === '') {
      const { account } = await engine.accounts.ensureOwner()
      this.account = account.id
      this.key = (await engine.keys.create(account.id, { name: 'node', scopes: SCOPES })).secret
    }
    const server = createServer(engine)
    const [handle] = server.listeners('request') as Array<(request: IncomingMessage, response: ServerResponse) => void>
    server.removeAllListeners('request')
    server.on('request', (request, response) => {
      this.asked.push(`${request.method} ${request.url?.split('?')[0]}`)
      Promise.resolve(this.gate(request, response)).then(
        () => response.destroyed || response.writableEnded || handle?.(request, response),
        () => response.destroy(),
      )
    })
    server.listen(this.#port, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    assert.ok(address !== null && typeof address === 'object')
    this.#port = address.port
    this.#server = server
    return this
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections()
    this.#server?.close()
    await this.#engine?.stop()
    this.#server = null
    this.#engine = null
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }
}
