import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KuboBackend } from '../../../adapters/kubo/kubo-backend.ts'
import { KuboRpc } from '../../../adapters/kubo/kubo-rpc.ts'
import { openHttpClient } from '../../../adapters/remote/http-client.ts'
import type { Clock } from '../../../src/domain/clock.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { MARK } from './kubo-under-test.ts'

export const SECRET = 'Bearer never-to-be-told'
const SYNCED = { Value: { type: 'levelds' } }
const NOT_PINNED = { Message: "path 'x' is not pinned", Code: 0, Type: 'error' }

export type Handler = (request: IncomingMessage, response: ServerResponse) => void
export type Handlers = Readonly<Record<string, Handler>>

export const json =
  (...lines: unknown[]): Handler =>
  (request, response) => {
    request.resume().on('end', () => response.end(lines.map(line => `${JSON.stringify(line)}\n`).join('')))
  }

export const error =
  (body: unknown, status = 500): Handler =>
  (request, response) => {
    request.resume()
    response.writeHead(status).end(JSON.stringify(body))
  }

/** Sends a text endlessly, until the reader stops. */
export const endless =
  (piece: string, head = ''): Handler =>
  (request, response) => {
    request.resume()
    response.write(head)
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', more)
    more()
  }

export const nothing: Handler = request => request.resume()

/** An RPC API with a handler for each command, which records the requests. */
export class HostileRpc implements AsyncDisposable {
  readonly asked: string[] = []
  readonly keys: Array<string | undefined> = []
  /** Number of requests that the client aborted. */
  ended = 0
  readonly #server: http.Server

  private constructor(server: http.Server) {
    this.#server = server
  }

  static async start(handlers: Handlers): Promise<HostileRpc> {
    const server = http.createServer()
    const rpc = new HostileRpc(server)
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const command = request.url?.replace('/api/v0/', '').split('?')[0] ?? ''
      rpc.asked.push(command)
      rpc.keys.push(request.headers.authorization)
      response.on('close', () => {
        if (!response.writableFinished) rpc.ended++
      })
      ;(handlers[command] ?? defaults[command] ?? error(null))(request, response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return rpc
  }

  get base(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }
}

/** Accepts everything and stores nothing. */
const defaults: Handlers = {
  config: json(SYNCED),
  'pin/ls': error(NOT_PINNED),
  'dag/import': json({ Stats: { BlockCount: 2 } }),
  'pin/add': (request, response) =>
    json({ Pins: [new URL(request.url ?? '', 'http://x').searchParams.get('arg')] })(request, response),
}

export async function withHostile(
  handlers: Handlers,
  run: (parts: { backend: KuboBackend; rpc: KuboRpc; hostile: HostileRpc }) => Promise<void>,
  clock: Clock = new ManualClock(),
): Promise<void> {
  const client = openHttpClient()
  await using hostile = await HostileRpc.start(handlers)
  try {
    const rpc = new KuboRpc({ url: hostile.base, authorization: SECRET, http: client, clock })
    const backend = new KuboBackend({ rpc, mark: MARK, reader: null, clock, acceptUnsynced: false })
    await run({ backend, rpc, hostile })
  } finally {
    await client.close()
  }
}
