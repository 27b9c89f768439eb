import type http from 'node:http'
import { serverFor } from './http-server.ts'
import { createExchange, type HandlerOptions, type ServedEngine } from './node-handler.ts'

/** How a server listens. */
export interface ServerOptions extends HandlerOptions {
  /** Connections at once. Default: half of the file descriptors that the process may have, at most 10,000. */
  maxConnections?: number
}

/**
 * A Node server for an engine, not listening yet; the caller closes it. Beyond {@link createHandler} it invites a body
 * (`100 Continue`) only once it is wanted, sets no limit on how long an upload may take as long as it goes on, answers in
 * JSON even what Node's parser refuses, and takes no more connections than leave files to be opened.
 */
export function createServer(engine: ServedEngine, { maxConnections, ...options }: ServerOptions = {}): http.Server {
  return serverFor(createExchange(engine, options), maxConnections)
}
