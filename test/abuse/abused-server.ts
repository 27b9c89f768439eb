import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import http from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { carOf } from '../content/car/support/cars.ts'
import type { Dag } from '../pins/fetches/support/dags.ts'
import { temporaryDirectory } from '../support/server-process.ts'
import { WatchedServer } from '../support/watched-process.ts'

/** Milliseconds after which a row's client gives up. No abuse may delay another request that long. */
const PATIENCE_MS = 20_000

/** Low limits, so that small requests reach what would otherwise take thousands. */
const CONFIG = {
  trustedProxies: 1,
  gateway: { maxConcurrentRequests: 64 },
  pin: { maxDepth: 12_500, findTimeoutSeconds: 2, waitSeconds: 1 },
  // No gateway listens at this port. With one configured, pins wait for content instead of failing at once.
  network: { gateways: ['http://127.0.0.1:9'], dht: 'server' },
}

export interface Answer {
  status: number
  body: Buffer
  headers: http.IncomingHttpHeaders
}

export interface Asked {
  method?: string
  headers?: Record<string, string>
  body?: Uint8Array | string
  /** Disconnects after this many bytes of the answer; `status` is then the one received before. */
  leaveAfter?: number
}

export interface AbusedServerOptions {
  longestMs?: number
  database?: string | undefined
  /** Default: `error`. */
  logLevel?: 'error' | 'info'
  /** Adds to the configuration. */
  config?: object
}

/** A server for the abuse tests with an owner's key, and a client for it. */
export class AbusedServer {
  readonly #directory: ReturnType<typeof temporaryDirectory>
  readonly #watched: WatchedServer
  readonly key: string
  #client = 0

  private constructor(directory: ReturnType<typeof temporaryDirectory>, watched: WatchedServer, key: string) {
    this.#directory = directory
    this.#watched = watched
    this.key = key
  }

  /** @param options `longestMs` limits the life of the process; `database` is the URL of a PostgreSQL catalogue */
  static async start({
    longestMs = 300_000,
    database,
    logLevel = 'error',
    config: more,
  }: AbusedServerOptions = {}): Promise<AbusedServer> {
    const directory = temporaryDirectory()
    const config = join(directory.path, 'config.json')
    writeFileSync(config, JSON.stringify({ ...CONFIG, ...more, database }))
    const key = `abuse_${randomBytes(32).toString('hex')}`
    const watched = await WatchedServer.start(join(directory.path, 'data'), join(directory.path, 'stalls'), {
      args: ['--config', config],
      env: { HOLDFAST_BOOTSTRAP_KEY: key, HOLDFAST_LOG_LEVEL: logLevel },
      longestMs,
    })
    return new AbusedServer(directory, watched, key)
  }

  get watched(): WatchedServer {
    return this.#watched
  }

  get url(): string {
    return this.#watched.process.url
  }

  /** Uses another client address for the next requests, so that limits of one row do not affect the next. */
  nextClient(): void {
    this.#client++
  }

  /** Multiaddr of the server's node. */
  get peerAddress(): string {
    return /^peer address\s+(\S+)$/m.exec(this.#watched.process.stdout)?.[1] ?? ''
  }

  async stop(): Promise<void> {
    this.#watched.process.signal('SIGKILL')
    await this.#watched.process.ended()
    this.#directory.remove()
  }

  /** Sends a request on a new connection. Paths of the API get the owner's key unless the headers have another. */
  ask(path: string, { method = 'GET', headers = {}, body, leaveAfter }: Asked = {}): Promise<Answer> {
    const from = { 'x-forwarded-for': clientAddress(this.#client) }
    const authorization = /^\/(api\/v3|admin|psa)\//.test(path) ? { 'x-api-key': this.key } : {}
    return new Promise((resolve, reject) => {
      const request = http.request(
        `${this.url}${path}`,
        { method, agent: false, headers: { ...from, ...authorization, ...headers }, timeout: PATIENCE_MS },
        response => {
          const chunks: Buffer[] = []
          let length = 0
          const { statusCode: status = 0 } = response
          const finish = (): void => resolve({ status, body: Buffer.concat(chunks), headers: response.headers })
          response.on('data', (chunk: Buffer) => {
            length += chunk.length
            if (leaveAfter === undefined) chunks.push(chunk)
            else if (length >= leaveAfter) {
              response.destroy()
              finish()
            }
          })
          response.on('end', finish)
          response.on('error', reject)
        },
      )
      request.on('timeout', () => request.destroy(new Error(`no answer to ${method} ${path.slice(0, 80)}`)))
      request.on('error', reject)
      request.end(body)
    })
  }

  /** Sends a request with a JSON body. */
  askJson(method: string, path: string, body: unknown): Promise<Answer> {
    return this.ask(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  }

  /** Imports a CAR of one DAG. Returns its root. @throws if the server refuses it */
  async store(dag: Dag): Promise<string> {
    const { status, body } = await this.importCar(dag)
    if (status !== 201 && status !== 200) throw new Error(`the content was refused: ${status} ${body}`)
    return dag.root.toString()
  }

  async importCar(dag: Dag): Promise<Answer> {
    return this.ask('/api/v3/files/car', {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.ipld.car' },
      body: await carOf([dag.root], dag.blocks),
    })
  }

  /** Opens a connection and sends nothing on it. The caller destroys it. */
  async connection(): Promise<Socket> {
    const socket = connect(Number(new URL(this.url).port), '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
}

/** Returns an address of 10.0.0.0/8, a different one for each number. */
export function clientAddress(number: number): string {
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`
}
