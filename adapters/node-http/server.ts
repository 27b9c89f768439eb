import type http from 'node:http'
import { checkFields } from '../../src/domain/known-fields.ts'
import { SERVER } from './http-options.ts'
import { serverFor } from './http-server.ts'
import { createExchange, type HandlerOptions, type ServedEngine } from './node-handler.ts'

/** Options of a server. */
export interface ServerOptions extends HandlerOptions {
  /** Default: half of the process's file descriptors, at most 10,000. */
  maxConnections?: number
}

/**
 * Creates a Node server for an engine. The caller listens and closes the server. In addition to {@link createHandler}:
 *
 * - It sends `100 Continue` only when the body is needed.
 * - An upload may take any time while it makes progress.
 * - Requests that Node's parser refuses get a JSON error response.
 * - The number of connections is limited, so that file descriptors remain for other uses.
 * @example createServer(engine).listen(8080, '127.0.0.1')
 */
export function createServer(engine: ServedEngine, given: ServerOptions = {}): http.Server {
  checkFields(given, SERVER, 'createServer')
  const { maxConnections, ...options } = given
  return serverFor(createExchange(engine, options), maxConnections)
}
