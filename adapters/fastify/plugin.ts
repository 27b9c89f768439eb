import type { FastifyError, FastifyPluginCallback, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { createHandler, type HandlerOptions, type NodeHandler, type ServedEngine } from '../node-http/index.ts'

/** Options of the plugin. */
export interface HoldfastPluginOptions extends HandlerOptions {
  /** The host starts it, and stops it after closing the server. */
  engine: ServedEngine
  /** Literal path of the mount, such as `/pinning`. Default: every path without a route of the host. */
  prefix?: string
}

/** Hides the route from @fastify/swagger, since the engine serves its own OpenAPI document. */
const HIDDEN: FastifySchema & { hide: boolean } = { hide: true }

/**
 * Serves an engine below the prefix: `app.register(holdfast, { engine, prefix })`. Bodies stream between the socket and
 * the engine, without Fastify.
 *
 * The hooks of the host up to `preHandler` run, with their headers and errors. Its logger and `onResponse` hooks see
 * each exchange. Its body parsers, `bodyLimit` and `onSend` hooks do not apply, since Fastify does not see bodies.
 * Everything that the plugin registers stays in its own scope.
 */
export const holdfast: FastifyPluginCallback<HoldfastPluginOptions> = (app, { engine, ...options }, done) => {
  const handle = createHandler(engine, { ...options, prefix: app.prefix })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, parsed) => parsed(null))
  app.setErrorHandler((error, request, reply) => {
    // Fastify refuses an unknown Content-Type. The engine decides instead, and ignores it without a body.
    if (codeOf(error) !== 'FST_ERR_CTP_INVALID_MEDIA_TYPE') throw error
    handOver(handle, request, reply)
  })
  app.all('/*', { schema: HIDDEN }, (request, reply) => handOver(handle, request, reply))
  done()
}

/**
 * Returns a value for Fastify's server option `frameworkErrors`. Fastify keeps paths with malformed percent-encoding
 * from its plugins. With this option the engine answers them below the prefix; Fastify answers other paths as usual.
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
