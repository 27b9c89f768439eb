import type { FastifyError, FastifyPluginCallback, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { createHandler, type HandlerOptions, type NodeHandler, type ServedEngine } from '../node-http/index.ts'

/** Which engine a plugin serves, and where. */
export interface HoldfastPluginOptions extends HandlerOptions {
  /** Started by the host, and stopped by it once the server is closed. */
  engine: ServedEngine
  /** Where the engine is mounted, literally, e.g. `/pinning`; everywhere that the host has no route if left out. */
  prefix?: string
}

/** What lists the routes of the host (@fastify/swagger) leaves this one out: the engine describes its own. */
const HIDDEN: FastifySchema & { hide: boolean } = { hide: true }

/**
 * `app.register(holdfast, { engine, prefix })`. What lies below the prefix is the engine's: requests and answers stream
 * past Fastify untouched, with the translation of the `node:http` adapter.
 *
 * Of the host, its hooks up to `preHandler` run, the headers that they set are sent along, an error that they throw
 * goes to the host's error handler, and its logger and `onResponse` hooks see the exchange. Its body parsers, `bodyLimit`
 * and `onSend` hooks do not apply, since bodies are never in Fastify's hands. Nothing that is registered here leaves the
 * plugin's own scope.
 */
export const holdfast: FastifyPluginCallback<HoldfastPluginOptions> = (app, { engine, ...options }, done) => {
  const handle = createHandler(engine, { ...options, prefix: app.prefix })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, parsed) => parsed(null))
  app.setErrorHandler((error, request, reply) => {
    // A Content-Type that Fastify cannot read is the engine's to refuse, or to ignore where no body came.
    if (codeOf(error) !== 'FST_ERR_CTP_INVALID_MEDIA_TYPE') throw error
    handOver(handle, request, reply)
  })
  app.all('/*', { schema: HIDDEN }, (request, reply) => handOver(handle, request, reply))
  done()
}

/**
 * A value for Fastify's server option of the same name. Paths with malformed percent-encoding never reach a plugin;
 * with this they get the engine's answer below the prefix. Elsewhere Fastify answers as it would by itself.
 */
export function frameworkErrors(
  options: HoldfastPluginOptions,
): (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void {
  const mount = (options.prefix ?? '').replace(/\/+$/, '')
  const handle = createHandler(options.engine, { prefix: mount })
  return (error, request, reply) => {
    const ours = error.code === 'FST_ERR_BAD_URL' && request.raw.url?.startsWith(`${mount}/`) === true
    if (ours) handOver(handle, request, reply)
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
