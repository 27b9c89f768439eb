import { once } from 'node:events'
import http from 'node:http'
import { createServer } from '../../adapters/node-http/index.ts'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../src/http/api-messages.ts'

export interface GatewayAnswer {
  status: number
  header(name: string): string | undefined
  body: Buffer
  text: string
  /** True if the body ended early. */
  isBroken: boolean
}

/** A client of a gateway. */
export interface GatewayClient {
  request(method: string, path: string, headers?: Record<string, string>): Promise<GatewayAnswer>
}

export function apiRequest(
  method: string,
  target: string,
  headers: Record<string, string> = {},
  signal = new AbortController().signal,
): ApiRequest {
  const [path = '', query = ''] = target.split('?', 2)
  return {
    method,
    path,
    query,
    header: name => headers[name],
    body: (async function* () {})(),
    signal,
    remoteAddress: '127.0.0.1',
  }
}

/** Reads a whole body. Returns its bytes and whether it ended early. */
export async function readBody({ body }: ApiResponse): Promise<{ bytes: Buffer; isBroken: boolean }> {
  const chunks: Uint8Array[] = []
  try {
    if (typeof body === 'string' || body instanceof Uint8Array) chunks.push(Buffer.from(body))
    else if (body !== null) for await (const chunk of body) chunks.push(Buffer.from(chunk))
  } catch {
    return { bytes: Buffer.concat(chunks), isBroken: true }
  }
  return { bytes: Buffer.concat(chunks), isBroken: false }
}

/** Sends requests without a socket. */
export function directClient(gateway: ApiHandler): GatewayClient {
  return {
    async request(method, path, headers) {
      const response = await gateway(apiRequest(method, path, headers))
      const { bytes, isBroken } = await readBody(response)
      return answerOf(response.status, name => response.headers[name], bytes, isBroken)
    },
  }
}

/** Sends requests over node:http to its own server. */
export async function socketClient(
  gateway: ApiHandler,
  api = gateway,
): Promise<GatewayClient & { close(): Promise<void> }> {
  const server = createServer({ api, gateway })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const client = portClient(port)
  return {
    request: client.request,
    async close() {
      client.close()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Sends requests to a port of this machine. */
export function portClient(port: number): GatewayClient & { close(): void } {
  const agent = new http.Agent({ keepAlive: true })
  return {
    request: (method, path, headers) =>
      ask(http.request({ agent, host: '127.0.0.1', port, method, path, ...(headers && { headers }) })),
    close: () => agent.destroy(),
  }
}

function ask(outgoing: http.ClientRequest): Promise<GatewayAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.on('response', async incoming => {
      const chunks: Uint8Array[] = []
      let isBroken = false
      try {
        for await (const chunk of incoming) chunks.push(chunk)
      } catch {
        isBroken = true
      }
      const header = (name: string): string | undefined => incoming.headers[name]?.toString()
      resolve(answerOf(incoming.statusCode ?? 0, header, Buffer.concat(chunks), isBroken))
    })
    outgoing.end()
  })
}

function answerOf(
  status: number,
  header: (name: string) => string | undefined,
  body: Buffer,
  isBroken: boolean,
): GatewayAnswer {
  return {
    status,
    header,
    body,
    // Large bodies are seldom read as text.
    get text() {
      return body.toString()
    },
    isBroken,
  }
}
