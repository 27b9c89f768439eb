// What a thread of the gateway needs as well: nothing here, nor what it imports, loads the engine.
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { ApiHandler } from '../../src/index.ts'
import { Connections, connectionsFor, descriptorLimit } from './connections.ts'
import { createGatewayExchange, type Exchange } from './exchange.ts'

/** Longer than what load balancers keep idle connections for, so that they and not this server close them. */
const KEEP_ALIVE_MS = 65_000
const HEADERS_MS = 60_000
/** How often connections are looked at whose headers are late. */
const CHECK_MS = 5_000
/** Connections beyond the limit that are kept long enough to be told of it; further ones are dropped. */
const SURPLUS_SHARE = 1 / 8
const RETRY_SECONDS = 5

/** How a server that has nothing but a gateway listens. */
export interface GatewayServerOptions {
  /** Connections at once. Default: half of the file descriptors that the process may have, at most 10,000. */
  maxConnections?: number
  /** Told of the bytes of bodies as they go out. */
  metrics?: { sent(surface: 'gateway', bytes: number): void }
}

/**
 * A Node server that has nothing but a gateway, `engine.ownGateway` say, and so is an origin of its own. Not listening
 * yet; the caller closes it. Otherwise as `createServer`.
 */
export function createGatewayServer(
  gateway: ApiHandler,
  { maxConnections, metrics }: GatewayServerOptions = {},
): http.Server {
  const sent = (bytes: number): void => metrics?.sent('gateway', bytes)
  return serverFor(createGatewayExchange(gateway, sent), maxConnections)
}

/** A server of this kind; see `createServer`. */
export function serverFor(exchange: Exchange, maxConnections = connectionsFor(descriptorLimit())): http.Server {
  const connections = new Connections(maxConnections)
  const server = http.createServer({
    requestTimeout: 0,
    headersTimeout: HEADERS_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: CHECK_MS,
    // What Node would answer has no body; see below.
    requireHostHeader: false,
  })
  // A client may close its side once it has asked. That it has closed both is found when it is written to.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.maxConnections = maxConnections + Math.ceil(maxConnections * SURPLUS_SHARE)
  server.on('connection', socket => connections.add(socket))
  server.on('listening', () => server.on('error', surviveSpentDescriptors))
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse, invite?: () => void): void => {
    connections.answering(incoming.socket, outgoing)
    if (connections.isSurplus(incoming.socket)) refuseSurplus(outgoing)
    else if (lacksHost(incoming)) refuse(outgoing, 400, 'VALIDATION', 'a request of HTTP/1.1 needs a Host header')
    else exchange(incoming, outgoing, invite)
  }
  server.on('request', (incoming, outgoing) => answer(incoming, outgoing))
  server.on('checkContinue', (incoming, outgoing) => answer(incoming, outgoing, () => outgoing.writeContinue()))
  server.on('checkExpectation', (incoming, outgoing) => server.emit('request', incoming, outgoing))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answering = connections.unfinished(socket)?.headersSent === true
    if (error.code === 'ECONNRESET' || !socket.writable || answering) socket.destroy()
    else socket.end(refusal(error.code), () => socket.destroy())
  })
  return server
}

/** Accepting fails while all descriptors are taken; the next connection is accepted again. */
function surviveSpentDescriptors(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EMFILE' && error.code !== 'ENFILE') throw error
}

function refuseSurplus(outgoing: ServerResponse): void {
  outgoing.setHeader('retry-after', String(RETRY_SECONDS))
  refuse(outgoing, 503, 'UNAVAILABLE', 'the node has as many connections as it can serve')
}

function lacksHost({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.host === undefined
}

function refuse(outgoing: ServerResponse, status: number, code: string, message: string): void {
  const body = JSON.stringify({ error: http.STATUS_CODES[status], message, code })
  outgoing.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'access-control-allow-origin': '*',
    'x-content-type-options': 'nosniff',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  })
  outgoing.end(body)
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
