import type http from 'node:http'
import { serverFor } from './http-server.ts'
import { createExchange, type HandlerOptions, type ServedEngine } from './node-handler.ts'

/** Options of a server. */
export interface ServerOptions extends HandlerOptions {
  /** Most connections. Default: half of the process's file descriptors, at most 10,000. */
  maxConnections?: number
}

/**
 * Creates a Node server for an engine. It does not listen yet; the caller closes it. It adds to {@link createHandler}:
 * - It asks for a body by `100 Continue` only once the body is wanted.
 * - An upload may take any time while it makes progress.
 * - Requests that Node's parser refuses get a JSON answer.
 * - The number of connections is limited, so that descriptors remain for files.
 */
export function createServer(engine: ServedEngine, { maxConnections, ...options }: ServerOptions = {}): http.Server {
  return serverFor(createExchange(engine, options), maxConnections)
}
