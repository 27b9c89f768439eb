// The gateway threads load this file. To save memory, neither this file nor its imports may import the engine.
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { noteConnection } from '../../src/concurrency/turns.ts'
import { checkFields } from '../../src/domain/known-fields.ts'
import type { ApiHandler } from '../../src/index.ts'
import { beginToLoad } from '../../src/wiring/loaded-handlers.ts'
import { type Refusal, refusalText, refuse } from './bare-refusal.ts'
import { Connections, connectionsFor, descriptorLimit } from './connections.ts'
import { GATEWAY_SERVER } from './http-options.ts'
import { createGatewayExchange, type Exchange } from './node-exchange.ts'
import { noteAnswer } from './open-answers.ts'

/** Load balancers close idle connections earlier, so they never reuse one that the server is closing. */
const KEEP_ALIVE_MS = 65_000
const HEADERS_MS = 60_000
const CHECK_MS = 5_000
const RETRY_SECONDS = 5
/** Requests of a connection that may wait. Browsers and usual clients send none before the answer. */
const MOST_WAITING = 16

/** Options of a server that serves only the gateway. */
export interface GatewayServerOptions {
  /** Default: half of the process's file descriptors, at most 10,000. */
  maxConnections?: number
  /** Counts the bytes of response bodies when they are sent. */
  metrics?: { sent(surface: 'gateway', bytes: number): void }
}

/**
 * Creates a server like `createServer`, but for a gateway alone, such as `engine.ownGateway`, on its own origin.
 *
 * @example createGatewayServer(engine.ownGateway).listen(8081, '127.0.0.1')
 */
export function createGatewayServer(gateway: ApiHandler, options: GatewayServerOptions = {}): http.Server {
  checkFields(options, GATEWAY_SERVER, 'createGatewayServer')
  const { maxConnections, metrics } = options
  beginToLoad(gateway)
  const sent = (bytes: number): void => metrics?.sent('gateway', bytes)
  return serverFor(createGatewayExchange(gateway, sent), maxConnections)
}

/** Creates a server with the properties that `createServer` documents. */
export function serverFor(exchange: Exchange, maxConnections = connectionsFor(descriptorLimit())): http.Server {
  const connections = new Connections(maxConnections, refusalText(SURPLUS, `retry-after: ${RETRY_SECONDS}`))
  const server = http.createServer({
    requestTimeout: 0,
    headersTimeout: HEADERS_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: CHECK_MS,
    // Node's own response to a request without a Host header has no body.
    requireHostHeader: false,
  })
  // A client may close its sending side after the request and still wait for the response.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', socket => {
    noteConnection()
    connections.add(socket)
  })
  server.on('listening', () => server.on('error', surviveSpentDescriptors))
  const pipelines = new Pipelines()
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse, invite?: () => void): void => {
    const { socket } = incoming
    pipelines.enter(socket, outgoing, () => {
      connections.answering(socket, outgoing)
      noteAnswer(server, outgoing)
      if (connections.isSurplus(socket)) refuseSurplus(outgoing)
      else exchange(incoming, outgoing, invite)
    })
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

/** Ignores an error if all file descriptors are in use: the server accepts connections again when one is free. */
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

interface Waiting {
  outgoing: ServerResponse
  begin: () => void
}

/**
 * Answers the requests of each connection one after the other. Node parses all requests that have arrived in one turn of
 * the event loop, and thousands fit into one packet.
 */
class Pipelines {
  /** The waiting requests of each connection that is being answered. */
  readonly #waiting = new WeakMap<Socket, Waiting[]>()

  /** Begins the answer once the earlier requests of the connection have theirs. Too many destroy the connection. */
  enter(socket: Socket, outgoing: ServerResponse, begin: () => void): void {
    // After its end, a connection may still have parsed requests.
    if (socket.destroyed) return
    const waiting = this.#waiting.get(socket)
    if (waiting === undefined) {
      this.#waiting.set(socket, [])
      this.#begin(socket, { outgoing, begin })
    } else if (waiting.push({ outgoing, begin }) > MOST_WAITING) {
      socket.destroy()
    }
  }

  #begin(socket: Socket, { outgoing, begin }: Waiting): void {
    outgoing.once('close', () => {
      const next = socket.destroyed ? undefined : this.#waiting.get(socket)?.shift()
      if (next === undefined) this.#waiting.delete(socket)
      else this.#begin(socket, next)
    })
    begin()
  }
}
