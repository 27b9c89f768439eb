// Loaded by the threads of the gateway, so neither this file nor its imports load the engine.
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { ApiHandler } from '../../src/index.ts'
import { type Refusal, refusalText, refuse } from './bare-refusal.ts'
import { Connections, connectionsFor, descriptorLimit } from './connections.ts'
import { createGatewayExchange, type Exchange } from './node-exchange.ts'

/** Longer than the keep-alive of load balancers, so that they close idle connections and not this server. */
const KEEP_ALIVE_MS = 65_000
const HEADERS_MS = 60_000
/** Interval of the check for late headers. */
const CHECK_MS = 5_000
const RETRY_SECONDS = 5

/** Options of a server for the gateway alone. */
export interface GatewayServerOptions {
  /** Most connections. Default: half of the process's file descriptors, at most 10,000. */
  maxConnections?: number
  /** Counts the bytes of bodies as they go out. */
  metrics?: { sent(surface: 'gateway', bytes: number): void }
}

/**
 * Creates a Node server for a gateway alone, such as `engine.ownGateway`, with an origin of its own. It does not listen
 * yet; the caller closes it. Otherwise as `createServer`.
 */
export function createGatewayServer(
  gateway: ApiHandler,
  { maxConnections, metrics }: GatewayServerOptions = {},
): http.Server {
  const sent = (bytes: number): void => metrics?.sent('gateway', bytes)
  return serverFor(createGatewayExchange(gateway, sent), maxConnections)
}

/** Creates an HTTP server for an exchange; see `createServer`. */
export function serverFor(exchange: Exchange, maxConnections = connectionsFor(descriptorLimit())): http.Server {
  const connections = new Connections(maxConnections, refusalText(SURPLUS, `retry-after: ${RETRY_SECONDS}`))
  const server = http.createServer({
    requestTimeout: 0,
    headersTimeout: HEADERS_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: CHECK_MS,
    // Node's own answer would have no body; see below.
    requireHostHeader: false,
  })
  // A client may close its side after its request. A write shows whether it has closed both.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', socket => connections.add(socket))
  server.on('listening', () => server.on('error', surviveSpentDescriptors))
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse, invite?: () => void): void => {
    connections.answering(incoming.socket, outgoing)
    if (connections.isSurplus(incoming.socket)) refuseSurplus(outgoing)
    else exchange(incoming, outgoing, invite)
  }
  server.on('request', (incoming, outgoing) => answer(incoming, outgoing))
  server.on('checkContinue', (incoming, outgoing) => answer(incoming, outgoing, () => outgoing.writeContinue()))
  server.on('checkExpectation', (incoming, outgoing) => server.emit('request', incoming, outgoing))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answering = connections.unfinished(socket)?.headersSent === true
    if (error.code === 'ECONNRESET' || !socket.writable || answering) socket.destroy()
    else connections.close(socket, refusalText(refusalFor(error.code)))
  })
  return server
}

/** Accepting fails while all descriptors are taken, and works again for the next connection. */
function surviveSpentDescriptors(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EMFILE' && error.code !== 'ENFILE') throw error
}

function refuseSurplus(outgoing: ServerResponse): void {
  outgoing.setHeader('retry-after', String(RETRY_SECONDS))
  refuse(outgoing, SURPLUS)
}

const SURPLUS: Refusal = {
  status: 503,
  code: 'UNAVAILABLE',
  message: 'the node has as many connections as it can serve',
}

/** Returns the refusal of a request that Node could not read. */
function refusalFor(code: string | undefined): Refusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, code: 'REQUEST_TOO_LARGE', message: 'the headers of the request are too large' }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, code: 'VALIDATION', message: 'the headers of the request did not arrive in time' }
    default:
      return { status: 400, code: 'VALIDATION', message: 'this is not a well-formed HTTP request' }
  }
}
