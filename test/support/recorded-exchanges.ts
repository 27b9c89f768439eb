import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { collect, sha256Hex } from './bytes.ts'

/** One request to another server and its answer, stored as a line of JSON. */
export interface Exchange {
  /** Method, path and query. */
  ask: string
  /** First 16 digits of the SHA-256 of the request's body. A form's random boundary is replaced first. */
  sent?: string
  status: number
  headers?: Record<string, string>
  body?: string | { base64: string } | Sent
  trailers?: Record<string, string>
  /** Set if the connection ended before the answer did. */
  cut?: true
}

/** A part of an answer that repeats bytes of an earlier request. */
interface Sent {
  of: string
  at: number
  length: number
}

/** A local server that stands in for another one. */
export interface Exchanges extends AsyncDisposable {
  base: string
}

export interface Recorder extends Exchanges {
  exchanges: Exchange[]
}

export interface Replay extends Exchanges {
  /** Requests without a recorded answer left. They were answered with 599. */
  unknown: string[]
  /** Recorded exchanges that no request has used. */
  left(): string[]
}

const KEPT_HEADERS = ['content-type', 'location', 'retry-after', 'trailer'] as const
/** A shorter answer is stored in full, even if it repeats an upload. */
const SHORTEST_SENT = 100

/**
 * Forwards each request to another server and records the exchange. The caller disposes of it.
 *
 * @param serverOf returns a server's base URL for a path, without a trailing slash; throws if no server has it
 */
export async function recordExchanges(serverOf: (path: string) => string): Promise<Recorder> {
  const exchanges: Exchange[] = []
  const sent = new Map<string, Buffer>()
  const server = await serve(async (request, response) => {
    const path = request.url ?? ''
    const { method = 'GET' } = request
    const { host: _, ...headers } = request.headers
    const there = http.request(`${serverOf(path)}${path}`, { method, headers })
    response.on('close', () => there.destroy())
    request.on('aborted', () => there.destroy())
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    const answered = once(there, 'response') as Promise<[IncomingMessage]>
    request.pipe(there)
    const [answer] = await answered
    const exchange: Exchange = { ask: `${method} ${path}`, status: answer.statusCode ?? 0 }
    exchanges.push(exchange)
    const kept = Object.fromEntries(
      KEPT_HEADERS.flatMap(name => (answer.headers[name] ? [[name, answer.headers[name]]] : [])),
    )
    // Node refuses to announce trailers for an answer without a body.
    if (exchange.status === 204) delete kept.trailer
    if (Object.keys(kept).length > 0) exchange.headers = kept as Record<string, string>
    response.writeHead(exchange.status, kept)
    const got: Buffer[] = []
    try {
      for await (const part of answer as AsyncIterable<Buffer>) {
        got.push(part)
        response.write(part)
      }
    } catch {
      exchange.cut = true
    }
    const trailers = Object.entries(answer.trailers).filter(([, value]) => value !== undefined && value !== '')
    if (trailers.length > 0) exchange.trailers = Object.fromEntries(trailers) as Record<string, string>
    const body = withoutBoundary(Buffer.concat(parts), headers['content-type'])
    if (body.length > 0) {
      exchange.sent = digest(body)
      sent.set(exchange.sent, body)
    }
    const bytes = Buffer.concat(got)
    if (bytes.length > 0) exchange.body = written(bytes, sent)
    finish(response, exchange)
  })
  return { ...server, exchanges }
}

/** Answers requests from recorded exchanges, each used once, in order. The caller disposes of it. */
export async function replayExchanges(exchanges: readonly Exchange[]): Promise<Replay> {
  const unknown: string[] = []
  const sent = new Map<string, Buffer>()
  const waiting = [...exchanges]
  const server = await serve(async (request, response) => {
    const body = withoutBoundary(await collect(request), request.headers['content-type'])
    const ask = `${request.method} ${request.url}`
    const hash = body.length > 0 ? digest(body) : undefined
    if (hash !== undefined) sent.set(hash, body)
    const place = waiting.findIndex(exchange => exchange.ask === ask && exchange.sent === hash)
    const [exchange] = place < 0 ? [] : waiting.splice(place, 1)
    if (exchange === undefined) {
      unknown.push(hash === undefined ? ask : `${ask} with ${body.length} bytes, ${hash}`)
      response.writeHead(599).end('never recorded')
      return
    }
    response.writeHead(exchange.status, exchange.headers)
    if (exchange.body !== undefined) response.write(read(exchange.body, sent))
    finish(response, exchange)
  })
  return { ...server, unknown, left: () => waiting.map(({ ask }) => ask) }
}

export function readExchanges(file: string, test: string): Exchange[] {
  return linesOf(file).flatMap(({ test: of, ...exchange }) => (of === test ? [exchange] : []))
}

export function writeExchanges(file: string, test: string, exchanges: readonly Exchange[]): void {
  const others = linesOf(file).filter(({ test: of }) => of !== test)
  const lines = [...others, ...exchanges.map(exchange => ({ test, ...exchange }))]
  const sorted = lines.sort((a, b) => (a.test < b.test ? -1 : a.test > b.test ? 1 : 0))
  writeFileSync(file, sorted.map(line => `${JSON.stringify(line)}\n`).join(''))
}

function linesOf(file: string): Array<Exchange & { test: string }> {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter(line => line !== '').map(line => JSON.parse(line) as Exchange & { test: string })
}

async function serve(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<Exchanges> {
  const server = http.createServer((request, response) => {
    // An exchange that the client or the server aborts is not recorded.
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  const { port } = server.address() as AddressInfo
  return { base: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: close }
}

function finish(response: ServerResponse, { trailers, cut }: Exchange): void {
  if (cut) {
    // The bytes written so far must go out before the connection ends.
    setImmediate(() => response.socket?.end())
    return
  }
  if (trailers !== undefined) response.addTrailers(trailers)
  response.end()
}

function withoutBoundary(body: Buffer, type: string | undefined): Buffer {
  const boundary = type?.split('boundary=')[1]?.split(';')[0]?.replaceAll('"', '')
  if (boundary === undefined || boundary === '') return body
  return Buffer.from(body.toString('latin1').replaceAll(boundary, 'boundary'), 'latin1')
}

function digest(body: Buffer): string {
  return sha256Hex(body).slice(0, 16)
}

function written(bytes: Buffer, sent: ReadonlyMap<string, Buffer>): NonNullable<Exchange['body']> {
  const text = bytes.toString('utf8')
  if (Buffer.from(text, 'utf8').equals(bytes) && bytes.length < SHORTEST_SENT) return text
  for (const [of, body] of sent) {
    const at = body.indexOf(bytes)
    if (at >= 0) return { of, at, length: bytes.length }
  }
  return Buffer.from(text, 'utf8').equals(bytes) ? text : { base64: bytes.toString('base64') }
}

function read(body: NonNullable<Exchange['body']>, sent: ReadonlyMap<string, Buffer>): Buffer {
  if (typeof body === 'string') return Buffer.from(body, 'utf8')
  if ('base64' in body) return Buffer.from(body.base64, 'base64')
  const from = sent.get(body.of)
  if (from === undefined) throw new Error(`nothing was sent with ${body.of}`)
  return from.subarray(body.at, body.at + body.length)
}
