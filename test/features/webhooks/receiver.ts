import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'

/** A request to a receiver. */
export interface Received {
  headers: IncomingHttpHeaders
  body: string
}

/** A server that records webhook requests, and answers with `answer`. */
export class Receiver implements AsyncDisposable {
  readonly received: Received[] = []
  answer: (response: ServerResponse) => void = response => response.writeHead(204).end()
  readonly #server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      this.received.push({ headers: request.headers, body: Buffer.concat(parts).toString() })
      this.answer(response)
    })
  })

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  get url(): string {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}/hook` : ''
  }

  /** Parsed bodies of all requests, in order of arrival. */
  get events(): Array<{ id: string; event: string; at: string; from: string | null; record: Record<string, unknown> }> {
    return this.received.map(({ body }) => JSON.parse(body))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
