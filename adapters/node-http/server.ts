import type http from 'node:http'
import { serverFor } from './http-server.ts'
import { createExchange, type HandlerOptions, type ServedEngine } from './node-handler.ts'

/** Options of a server. */
export interface ServerOptions extends HandlerOptions {
  /** Maximum number of connections. Default: half of the process's file descriptors, but not more than 10,000. */
  maxConnections?: number
}

/**
 * Creates a Node server for an engine. The caller must call `listen` and close the server. In addition to
 * {@link createHandler}, the server has these properties:
 * - It sends `100 Continue` only when the body is needed.
 * - An upload may take any time while it makes progress.
 * - Requests that Node's parser refuses get a JSON error response.
 * - The number of connections is limited, so that file descriptors remain for other uses.
 */
export function createServer(engine: ServedEngine, { maxConnections, ...options }: ServerOptions = {}): http.Server {
  return serverFor(createExchange(engine, options), maxConnections)
}
