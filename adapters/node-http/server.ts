import http, { type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { createExchange, type HandlerOptions, type ServedEngine } from './handler.ts'

/** Longer than what load balancers keep idle connections for, so that they and not this server close them. */
const KEEP_ALIVE_MS = 65_000
const HEADERS_MS = 60_000

/**
 * A Node server for an engine, not listening yet; the caller closes it. Beyond {@link createHandler} it invites a body
 * (`100 Continue`) only once it is wanted, sets no limit on how long an upload may take, and answers in JSON even
 * what Node's parser refuses.
 */
export function createServer(engine: ServedEngine, options: HandlerOptions = {}): http.Server {
  const exchange = createExchange(engine, options)
  const open = new WeakMap<Duplex, ServerResponse>()
  const server = http.createServer({ requestTimeout: 0, headersTimeout: HEADERS_MS, keepAliveTimeout: KEEP_ALIVE_MS })
  server.on('request', (incoming, outgoing) => {
    open.set(incoming.socket, outgoing)
    exchange(incoming, outgoing)
  })
  server.on('checkContinue', (incoming, outgoing) => {
    open.set(incoming.socket, outgoing)
    exchange(incoming, outgoing, () => outgoing.writeContinue())
  })
  server.on('checkExpectation', (incoming, outgoing) => server.emit('request', incoming, outgoing))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const outgoing = open.get(socket)
    const answering = outgoing?.headersSent === true && !outgoing.writableFinished
    if (error.code === 'ECONNRESET' || !socket.writable || answering) socket.destroy()
    else socket.end(refusal(error.code), () => socket.destroy())
  })
  return server
}

/** The answer to bytes that are no request, written by hand because there is no response object for them. */
function refusal(code: string | undefined): string {
  const [status, reason, kind, message] = describe(code)
  const body = JSON.stringify({ error: reason, message, code: kind })
  return [
    `HTTP/1.1 ${status} ${reason}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Access-Control-Allow-Origin: *',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

function describe(code: string | undefined): [status: number, reason: string, kind: string, message: string] {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return [431, 'Request Header Fields Too Large', 'REQUEST_TOO_LARGE', 'the headers of the request are too large']
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [408, 'Request Timeout', 'VALIDATION', 'the headers of the request did not arrive in time']
    default:
      return [400, 'Bad Request', 'VALIDATION', 'this is not a well-formed HTTP request']
  }
}
