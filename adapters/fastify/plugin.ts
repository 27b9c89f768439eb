import type { FastifyError, FastifyPluginCallback, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { createHandler, type HandlerOptions, type NodeHandler, type ServedEngine } from '../node-http/index.ts'

/** Options of the plugin. */
export interface HoldfastPluginOptions extends HandlerOptions {
  /** The engine to serve. The host program starts the engine, and stops the engine after it has closed the server. */
  engine: ServedEngine
  /**
   * Path at which the engine is mounted, such as `/pinning`. The path must not contain parameters. By default, the
   * engine serves every path that is not a route of the host program.
   */
  prefix?: string
}

/** Schema that hides the route from @fastify/swagger, because the engine serves its own OpenAPI document. */
const HIDDEN: FastifySchema & { hide: boolean } = { hide: true }

/**
 * Serves an engine below the prefix: `app.register(holdfast, { engine, prefix })`. Bodies are streamed between the
 * socket and the engine, without Fastify.
 *
 * The host program's hooks up to `preHandler` run, and the headers and errors that they set apply. The host program's
 * logger and `onResponse` hooks are called for each request. Body parsers, `bodyLimit` and `onSend` hooks do not apply,
 * because Fastify does not process the bodies. The plugin's registrations do not affect other routes.
 */
export const holdfast: FastifyPluginCallback<HoldfastPluginOptions> = (app, { engine, ...options }, done) => {
  const handle = createHandler(engine, { ...options, prefix: app.prefix })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, parsed) => parsed(null))
  app.setErrorHandler((error, request, reply) => {
    // Fastify refuses an unknown Content-Type. The request is passed to the engine instead, which ignores the
    // Content-Type of an empty body.
    if (codeOf(error) !== 'FST_ERR_CTP_INVALID_MEDIA_TYPE') throw error
    handOver(handle, request, reply)
  })
  app.all('/*', { schema: HIDDEN }, (request, reply) => handOver(handle, request, reply))
  done()
}

/**
 * Returns a value for Fastify's server option `frameworkErrors`. Fastify does not pass paths with malformed
 * percent-encoding to plugins. With this option, the engine handles these requests if the path is below the prefix.
 * Fastify handles all other errors as usual.
 */
export function frameworkErrors(
  options: HoldfastPluginOptions,
): (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void {
  const mount = (options.prefix ?? '').replace(/\/+$/, '')
  const handle = createHandler(options.engine, { prefix: mount })
  return (error, request, reply) => {
    const isBelow = error.code === 'FST_ERR_BAD_URL' && request.raw.url?.startsWith(`${mount}/`) === true
    if (isBelow) handOver(handle, request, reply)
    else reply.send(error)
  }
}

function handOver(handle: NodeHandler, request: FastifyRequest, reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value)
  }
  reply.hijack()
  handle(request.raw, reply.raw)
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
