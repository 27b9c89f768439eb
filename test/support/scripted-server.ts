import { once } from 'node:events'
import http, { type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HoldfastClient } from '../../adapters/client/index.ts'

/** Answers requests in turn from a script. */
export interface ScriptedServer extends AsyncDisposable {
  base: string
  /** Method and path of each request received. */
  seen: string[]
  client: HoldfastClient
  /** Delays that the client asked for; it does not really wait. */
  waits: number[]
}

/**
 * Starts a server that gives one answer for each request, and the last one for all further requests. The caller
 * disposes of it.
 */
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
