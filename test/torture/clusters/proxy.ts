import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request, as a rule of the proxy sees it. */
export interface Asked {
  method: string
  /** URL with path and query. */
  url: URL
}

/** An answer that the proxy sends itself. */
export interface Lie {
  status: number
  body: string
  trailers?: Readonly<Record<string, string>>
}

/**
 * Decision on a request: `pass` forwards it; `lose` forwards it and drops the answer; a lie is answered without
 * forwarding.
 */
export type Fate = 'pass' | 'lose' | Lie

/** Decides on a request before it is forwarded. The request is held until the promise resolves. */
export type Judge = (asked: Asked) => Fate | Promise<Fate>

const pass: Judge = () => 'pass'

/**
 * A proxy at a fixed address between a node and the system that keeps its cluster. A held request arrives even if its
 * client has gone.
 */
export class ApiProxy implements AsyncDisposable {
  /** Base URL of the server to forward to, without a trailing slash; null if none runs. */
  target: string | null = null
  judge: Judge = pass
  readonly #server: http.Server
  #underWay = 0

  private constructor(server: http.Server) {
    this.#server = server
  }

  static async start(): Promise<ApiProxy> {
    const server = http.createServer({ requestTimeout: 0 })
    const proxy = new ApiProxy(server)
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      proxy.#underWay++
      proxy
        .#serve(request, response)
        .catch(() => response.destroy())
        .finally(() => proxy.#underWay--)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get base(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Number of requests received and not finished, including held ones. */
  get underWay(): number {
    return this.#underWay
  }

  /** Passes all requests from now on. */
  calm(): void {
    this.judge = pass
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = request
    const fate = await this.judge({ method, url: new URL(url, this.base) })
    if (fate !== 'pass' && fate !== 'lose') return answerWith(request, response, fate)
    if (this.target === null) throw new Error('there is no server behind')
    const { host: _, ...headers } = request.headers
    const there = http.request(`${this.target}${url}`, { method, headers, agent: false })
    const answered = once(there, 'response') as Promise<[IncomingMessage]>
    // The request's body may fail first; the failure of the answer is then no unhandled rejection.
    answered.catch(() => undefined)
    if (hasBody(request)) {
      request.pipe(there)
      request.on('aborted', () => there.destroy())
    } else {
      there.end()
    }
    const [answer] = await answered
    if (fate === 'lose') {
      await once(answer.resume(), 'close')
      response.destroy()
      return
    }
    // If the client has gone, the request to the server is aborted.
    response.on('close', () => there.destroy())
    const { 'content-length': __, connection: ___, ...others } = answer.headers
    response.writeHead(answer.statusCode ?? 0, others)
    for await (const part of answer as AsyncIterable<Buffer>) response.write(part)
    const trailers = Object.entries(answer.trailers).filter(([, value]) => value !== undefined && value !== '')
    if (trailers.length > 0) response.addTrailers(Object.fromEntries(trailers) as Record<string, string>)
    response.end()
  }
}

async function answerWith(request: IncomingMessage, response: ServerResponse, lie: Lie): Promise<void> {
  if (!request.readableEnded && hasBody(request)) await once(request.resume(), 'end')
  const names = Object.keys(lie.trailers ?? {})
  response.writeHead(lie.status, {
    'content-type': 'application/json',
    ...(names.length > 0 && { trailer: names.join(', ') }),
  })
  response.write(lie.body)
  if (lie.trailers !== undefined) response.addTrailers(lie.trailers)
  response.end()
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
