import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkFields } from '../../src/domain/known-fields.ts'
import type { ApiHandler, ApiRequest } from '../../src/index.ts'
import { beginToLoad } from '../../src/wiring/loaded-handlers.ts'
import { HANDLER } from './http-options.ts'
import { answersMetrics, type MeasuredEngine, type MetricsReaders, metricsResponse } from './metrics-endpoint.ts'
import { type Exchange, exchangeBy, invitationBy } from './node-exchange.ts'
import type { PrometheusMetrics } from './prometheus-metrics.ts'
import { splitTarget, toApiRequest } from './request.ts'
import { sendResponse } from './response.ts'

/** The parts of an engine that a handler serves. */
export interface ServedEngine extends MeasuredEngine {
  readonly api: ApiHandler
  /** The gateway at `/ipfs/<cid>/<path>`. */
  readonly gateway: ApiHandler
}

/** Options of a request handler. */
export interface HandlerOptions extends MetricsReaders {
  /**
   * Path at which the engine is mounted, such as `/pinning`. Omit this option if the host program strips the prefix.
   */
  prefix?: string
  /** The engine's metrics. The handler serves them at `<prefix>/metrics`. */
  metrics?: PrometheusMetrics
  /** From `createConsole` of `holdfast/console`. The handler serves it at `<prefix>/console/`. */
  console?: ApiHandler
}

/**
 * A request listener, also for use as middleware (Express, Connect). Outside the prefix, it calls `next`, or responds
 * with 404.
 */
export type NodeHandler = (incoming: IncomingMessage, outgoing: ServerResponse, next?: () => void) => void

/**
 * Creates a request listener for a Node server. Below the prefix, `/ipfs/…` is the gateway, `/console/…` the console
 * if one is given, and the rest the API.
 *
 * Mount the listener before any middleware that reads request bodies. The listener never throws.
 * @example http.createServer(createHandler(engine, { prefix: '/storage' })).listen(8080)
 */
export function createHandler(engine: ServedEngine, options: HandlerOptions = {}): NodeHandler {
  checkFields(options, HANDLER, 'createHandler')
  const mount = mountOf(options)
  const exchange = createExchange(engine, options)
  return (incoming, outgoing, next) => {
    if (next !== undefined && pathBelow(mount, splitTarget(incoming)[0]) === OUTSIDE) next()
    else exchange(incoming, outgoing)
  }
}

/** Creates the handler for servers that do not send `100 Continue` themselves: the exchange calls `invite`. */
export function createExchange(engine: ServedEngine, options: HandlerOptions): Exchange {
  const prefix = mountOf(options)
  beginToLoad(engine.api, engine.gateway)
  return exchangeBy((incoming, outgoing, invite) => serve(engine, { ...options, prefix }, incoming, outgoing, invite))
}

function mountOf({ prefix = '' }: HandlerOptions): string {
  return prefix.replace(/\/+$/, '')
}

async function serve(
  engine: ServedEngine,
  { prefix, metrics, console, ...readers }: HandlerOptions & { prefix: string },
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  invite: (() => void) | undefined,
): Promise<void> {
  const invitation = invitationBy(invite)
  const path = pathBelow(prefix, splitTarget(incoming)[0])
  const request = toApiRequest(incoming, outgoing, path, invitation.send)
  if (metrics !== undefined && answersMetrics(incoming, path, engine, readers)) {
    return sendResponse(incoming, outgoing, await metricsResponse(incoming, metrics, engine), invitation.isSent)
  }
  if (console !== undefined && answersConsole(request, engine)) {
    return sendResponse(incoming, outgoing, await console(request), invitation.isSent)
  }
  const surface = path === '/ipfs' || path.startsWith('/ipfs/') ? 'gateway' : 'api'
  const sent = metrics && ((bytes: number): void => metrics.sent(surface, bytes))
  await sendResponse(incoming, outgoing, await engine[surface](request), invitation.isSent, sent)
}

/** Returns false on a content host name, where the path `/console` belongs to the content. */
function answersConsole({ path, header }: ApiRequest, { isContentHost }: ServedEngine): boolean {
  const isConsole = path === '/console' || path.startsWith('/console/')
  return isConsole && isContentHost?.(header) !== true
}

/** A path that matches no route of the API. */
const OUTSIDE = '//'

function pathBelow(mount: string, path: string): string {
  if (mount === '') return path
  return path.startsWith(`${mount}/`) ? path.slice(mount.length) : OUTSIDE
}
