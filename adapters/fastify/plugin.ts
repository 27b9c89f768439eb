import type {
  FastifyError,
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  RegisterOptions,
} from 'fastify'
import { checkFields } from '../../src/domain/known-fields.ts'
import { createHandler, type HandlerOptions, type NodeHandler, type ServedEngine } from '../node-http/index.ts'
import { PLUGIN } from './plugin-options.ts'

/** Options of the plugin. */
export interface HoldfastPluginOptions extends HandlerOptions {
  /** The host program starts the engine, and stops it after it has closed the server. */
  engine: ServedEngine
  /**
   * Path at which the engine is mounted, without parameters, such as `/pinning`. Default: every path that is not a
   * route of the host program.
   */
  prefix?: string
}

/** Options as Fastify passes them on to the plugin, with those of `register`. */
type GivenOptions = HoldfastPluginOptions & RegisterOptions

/** Hides the route from @fastify/swagger: the engine serves its own OpenAPI document. */
const HIDDEN: FastifySchema & { hide: boolean } = { hide: true }

/**
 * Serves an engine below the prefix: `app.register(holdfast, { engine, prefix })`. Bodies are streamed without Fastify.
 *
 * The host program's hooks up to `preHandler`, its logger and `onResponse` hooks run, and its headers and errors apply.
 * Body parsers, `bodyLimit` and `onSend` hooks do not apply. Other routes are not affected.
 * @example await fastify().register(holdfast, { engine, prefix: '/storage' })
 */
export const holdfast: FastifyPluginCallback<HoldfastPluginOptions> = (app, given, done) => {
  checkFields(given, PLUGIN, 'holdfast')
  const { engine, logLevel: _, logSerializers: __, ...options }: GivenOptions = given
  const handle = createHandler(engine, { ...options, prefix: app.prefix })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, parsed) => parsed(null))
  app.setErrorHandler((error, request, reply) => {
    // Fastify refuses an unknown Content-Type, which the engine ignores if the body is empty.
    if (codeOf(error) !== 'FST_ERR_CTP_INVALID_MEDIA_TYPE') throw error
    handOver(handle, request, reply)
  })
  app.all('/*', { schema: HIDDEN }, (request, reply) => handOver(handle, request, reply))
  done()
}

/**
 * Returns a value for Fastify's server option `frameworkErrors`. Fastify passes no malformed percent-encoding to
 * plugins. With this option, the engine handles such paths below the prefix.
 * @example const app = fastify({ frameworkErrors: frameworkErrors({ engine, prefix: '/storage' }) })
 */
export function frameworkErrors(
  options: HoldfastPluginOptions,
): (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void {
  checkFields(options, PLUGIN, 'frameworkErrors')
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
