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

/** No abuse may hold up another's request for so long; it is also when the client of a row gives up. */
const PATIENCE_MS = 20_000

/** What makes small requests reach what takes thousands otherwise. */
const CONFIG = {
  trustedProxies: 1,
  gateway: { maxConcurrentRequests: 64 },
  pin: { maxDepth: 12_500, findTimeoutSeconds: 2, waitSeconds: 1 },
  // Nobody is there; it only makes pins wait for content instead of being refused at once.
  network: { gateways: ['http://127.0.0.1:9'] },
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
  /** Leave after so many bytes of the answer; `status` is then what came first. */
  leaveAfter?: number
}

export interface AbusedServerOptions {
  longestMs?: number
  database?: string | undefined
}

/** The server of the abuse tests with an owner's key, and ways to ask it. */
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

  /** @param options `longestMs` is how long the process may run, `database` a URL of a catalogue in PostgreSQL */
  static async start({ longestMs = 300_000, database }: AbusedServerOptions = {}): Promise<AbusedServer> {
    const directory = temporaryDirectory()
    const config = join(directory.path, 'config.json')
    writeFileSync(config, JSON.stringify({ ...CONFIG, database }))
    const key = `abuse_${randomBytes(32).toString('hex')}`
    const watched = await WatchedServer.start(join(directory.path, 'data'), join(directory.path, 'stalls'), {
      args: ['--config', config],
      env: { HOLDFAST_BOOTSTRAP_KEY: key, HOLDFAST_LOG_LEVEL: 'error' },
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

  /** Sends what follows from another client address, so that one row's limits do not refuse the next row. */
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

  /** Sends a request on a connection of its own. A path of an API carries the owner's key, unless it has another. */
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

  /** The body as JSON. */
  askJson(method: string, path: string, body: unknown): Promise<Answer> {
    return this.ask(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  }

  /** Imports a CAR of one DAG and expects it to be taken. Returns the root. */
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

  /** A connection on which nothing was sent yet. The caller destroys it. */
  async connection(): Promise<Socket> {
    const socket = connect(Number(new URL(this.url).port), '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
}

/** An address of 10.0.0.0/8, another one for each number. */
export function clientAddress(number: number): string {
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`
}
