import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as dagCbor from '@ipld/dag-cbor'
import { IpfsClusterApi } from '../../../adapters/ipfs-cluster/ipfs-cluster-api.ts'
import { IpfsClusterBackend } from '../../../adapters/ipfs-cluster/ipfs-cluster-backend.ts'
import { openHttpClient } from '../../../adapters/remote/http-client.ts'
import type { Clock } from '../../../src/domain/clock.ts'
import { collect } from '../../support/bytes.ts'

const SECRET = 'Bearer never-to-be-told'
export const MARK = 'holdfast:0123456789abcdef'
const PEERS = ['12D3KooWone', '12D3KooWtwo', '12D3KooWthree']

export interface Asked {
  method: string
  url: URL
  /** The CID in the path. */
  cid: string
  body: Buffer
}

export type Handler = (asked: Asked, response: ServerResponse, request: IncomingMessage) => void | Promise<void>

/** The status that a peer reports for a pin. */
export interface Said {
  status: string
  error?: string
  ipfs_peer_id?: string
}

interface Pin {
  metadata: Record<string, string>
  name: string
  min: number
  max: number
  origins: string[]
}

export const json =
  (...lines: unknown[]): Handler =>
  (_, response) =>
    void response.end(lines.map(line => `${JSON.stringify(line)}\n`).join(''))

export const refuse =
  (status: number, body: unknown): Handler =>
  (_, response) =>
    void response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))

/** Sends a text endlessly, until the reader stops. */
export const endless =
  (piece: string, head = ''): Handler =>
  (_, response) => {
    response.write(head)
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', more)
    more()
  }

const NOT_PINNED = refuse(404, { code: 404, message: 'pin is not part of the pinset' })

/** A REST API that answers like a real IPFS Cluster, except where a test replaces an answer. */
export class ScriptedApi implements AsyncDisposable {
  /** Method and path without the CID: `POST /pins/`. */
  readonly asked: string[] = []
  readonly requests: Asked[] = []
  readonly keys: Array<string | undefined> = []
  readonly pins = new Map<string, Pin>()
  /** Returns the status that a peer reports; null leaves the peer out. */
  says: (peer: string) => Said | null = () => ({ status: 'pinned' })
  /** Replaced answers, by the keys in {@link asked}. */
  handlers: Readonly<Record<string, Handler>> = {}
  /** Number of requests that the client aborted. */
  ended = 0
  readonly #server = http.createServer()

  static async start(): Promise<ScriptedApi> {
    const api = new ScriptedApi()
    api.#server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      response.on('close', () => {
        if (!response.writableFinished) api.ended++
      })
      // An aborted request gets no answer.
      api.#answer(request, response).catch(() => response.destroy())
    })
    api.#server.listen(0, '127.0.0.1')
    await once(api.#server, 'listening')
    return api
  }

  get base(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  count(asked: string): number {
    return this.asked.filter(line => line === asked).length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://x')
    const [, cid = ''] = /^\/(?:pins|allocations)\/([^/]+)/.exec(url.pathname) ?? []
    const name = `${request.method} ${cid === '' ? url.pathname : url.pathname.replace(cid, '')}`
    this.asked.push(name)
    this.keys.push(request.headers.authorization)
    const asked = { method: request.method ?? '', url, cid, body: await collect(request) }
    this.requests.push(asked)
    await (this.handlers[name] ?? this.#right(name))(asked, response, request)
  }

  #right(name: string): Handler {
    const right: Record<string, Handler> = {
      'GET /allocations/': (asked, ...rest) => {
        const pin = this.pins.get(asked.cid)
        return (pin === undefined ? NOT_PINNED : json(pinOf(asked.cid, pin)))(asked, ...rest)
      },
      'GET /allocations': (asked, ...rest) =>
        json(...[...this.pins].map(([cid, pin]) => pinOf(cid, pin)))(asked, ...rest),
      'GET /pins': (asked, ...rest) => {
        const cids = (asked.url.searchParams.get('cids') ?? '').split(',')
        return json(...cids.map(cid => ({ cid, peer_map: this.#peerMap(cid) })))(asked, ...rest)
      },
      'POST /add': (asked, ...rest) => json([{ cid: rootInForm(asked.body), allocations: PEERS }])(asked, ...rest),
      'POST /pins/': (asked, ...rest) => {
        this.pins.set(asked.cid, wished(asked.url.searchParams))
        return json({})(asked, ...rest)
      },
      'POST /pins//recover': json({}),
      'DELETE /pins/': (asked, ...rest) => (this.pins.delete(asked.cid) ? json({}) : NOT_PINNED)(asked, ...rest),
      'GET /peers': json(...PEERS.map(id => ({ id, error: '', ipfs: { error: '' } }))),
      'GET /monitor/metrics/freespace': json(PEERS.map(peer => ({ peer, value: '1000', valid: true }))),
    }
    return right[name] ?? refuse(404, { code: 404, message: 'not found' })
  }

  #peerMap(cid: string): Record<string, unknown> {
    const all = PEERS.map(peer => {
      const said = this.pins.has(cid) ? this.says(peer) : { status: 'unpinned' }
      return said === null ? [] : [[peer, { error: '', ipfs_peer_id: `ipfs of ${peer}`, ...said }]]
    })
    return Object.fromEntries(all.flat() as Array<[string, unknown]>)
  }
}

function pinOf(cid: string, { metadata, name, min, max, origins }: Pin) {
  return { cid, type: 'pin', name, metadata, replication_factor_min: min, replication_factor_max: max, origins }
}

function wished(query: URLSearchParams): Pin {
  const metadata = [...query].flatMap(([key, value]) => (key.startsWith('meta-') ? [[key.slice(5), value]] : []))
  return {
    metadata: Object.fromEntries(metadata) as Record<string, string>,
    name: query.get('name') ?? '',
    min: Number(query.get('replication-min') ?? -1),
    max: Number(query.get('replication-max') ?? -1),
    origins: (query.get('origins') ?? '').split(',').filter(text => text !== ''),
  }
}

/** Returns the root of the CAR in a form. The CAR's header begins with its length in one byte. */
export function rootInForm(body: Buffer): string {
  const car = body.subarray(body.indexOf('\r\n\r\n') + 4)
  const { roots } = dagCbor.decode<{ roots: unknown[] }>(car.subarray(1, 1 + (car[0] ?? 0)))
  return String(roots[0])
}

/** A clock that skips short waits. Long ones end only when enough time has passed. */
export class RushedClock implements Clock {
  readonly #waiting = new Set<{ at: number; callback: () => void }>()
  #now = Date.parse('2030-01-01')

  now(): number {
    return this.#now
  }

  after(ms: number, callback: () => void): () => void {
    const wait = { at: this.#now + ms, callback }
    this.#waiting.add(wait)
    if (ms <= 5_000) {
      setImmediate(() => {
        if (this.#waiting.has(wait)) this.#until(wait.at)
      })
    }
    return () => this.#waiting.delete(wait)
  }

  #until(at: number): void {
    this.#now = Math.max(this.#now, at)
    for (const wait of [...this.#waiting]) {
      if (wait.at > this.#now || !this.#waiting.delete(wait)) continue
      wait.callback()
    }
  }
}

export interface ScriptedParts {
  api: ScriptedApi
  backend: IpfsClusterBackend
  clock: Clock
}

export async function withScripted(
  run: (parts: ScriptedParts) => Promise<void>,
  options: {
    clock?: Clock
    addresses?: string[]
    replication?: { min: number; max: number } | null
  } = {},
): Promise<void> {
  const { clock = new RushedClock(), addresses = [], replication = { min: 2, max: 3 } } = options
  const http = openHttpClient()
  await using api = await ScriptedApi.start()
  try {
    const there = new IpfsClusterApi({ url: api.base, authorization: SECRET, http, clock })
    const backend = new IpfsClusterBackend({
      ...{ api: there, mark: MARK, replication, addresses: () => addresses, reader: null, clock },
    })
    await run({ api, backend, clock })
  } finally {
    await http.close()
  }
}
