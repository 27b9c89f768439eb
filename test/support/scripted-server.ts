import { once } from 'node:events'
import http, { type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HoldfastClient } from '../../adapters/client/index.ts'

/** A server that answers requests one after the other as it is told to. */
export interface ScriptedServer extends AsyncDisposable {
  /** Of an API that it pretends to have. */
  base: string
  /** The requests it has had. */
  seen: string[]
  client: HoldfastClient
  /** What the client wanted to wait, in milliseconds; it does not. */
  waits: number[]
}

/** The last answer is given to all further requests. The caller disposes of it. */
export async function scriptedServer(...answers: RequestListener[]): Promise<ScriptedServer> {
  const seen: string[] = []
  const waits: number[] = []
  const server = http.createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    answers[Math.min(seen.length, answers.length) - 1]?.(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v3`
  const client = new HoldfastClient({ base, key: 'secret', wait: async ms => waits.push(ms) })
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
  }
  return { base, seen, client, waits, [Symbol.asyncDispose]: close }
}

export const say =
  (status: number, body: string, headers: Record<string, string> = {}): RequestListener =>
  (request, response) => {
    request.resume()
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  }

export const hangUp: RequestListener = request => request.socket.destroy()
