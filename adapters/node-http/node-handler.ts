import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiHandler, ApiRequest } from '../../src/index.ts'
import { answersMetrics, type MeasuredEngine, type MetricsReaders, metricsResponse } from './metrics-endpoint.ts'
import { type Exchange, exchangeBy, invitationBy } from './node-exchange.ts'
import type { PrometheusMetrics } from './prometheus-metrics.ts'
import { splitTarget, toApiRequest } from './request.ts'
import { sendResponse } from './response.ts'

/** The two faces of an engine that this adapter serves. */
export interface ServedEngine extends MeasuredEngine {
  /** The v3 contract. */
  readonly api: ApiHandler
  /** `/ipfs/<cid>/<path>`. */
  readonly gateway: ApiHandler
}

/** Where an engine is mounted, and who may read its metrics. */
export interface HandlerOptions extends MetricsReaders {
  /** Where the engine is mounted, e.g. `/pinning`. A host that strips the prefix itself leaves it out. */
  prefix?: string
  /** The ones given to the engine. With them `<prefix>/metrics` answers. */
  metrics?: PrometheusMetrics
  /** Made by `createConsole` of `holdfast/console`. With it `<prefix>/console/` answers. */
  console?: ApiHandler
}

/**
 * A request listener, which as middleware (Express, Connect) is also given `next`: it is called for what lies outside
 * the prefix, and for nothing else. Without it that is a 404.
 */
export type NodeHandler = (incoming: IncomingMessage, outgoing: ServerResponse, next?: () => void) => void

/**
 * A request listener for a Node server: `<prefix>/ipfs/…` is the gateway, `<prefix>/console/…` the console if there is
 * one, everything else below the prefix the API.
 * It answers every request there and never throws. Bodies have to reach it unread: as middleware it comes before any
 * that parses them.
 */
export function createHandler(engine: ServedEngine, options: HandlerOptions = {}): NodeHandler {
  const mount = mountOf(options)
  const exchange = createExchange(engine, options)
  return (incoming, outgoing, next) => {
    if (next !== undefined && pathBelow(mount, splitTarget(incoming)[0]) === OUTSIDE) next()
    else exchange(incoming, outgoing)
  }
}

/**
 * As {@link createHandler}, for servers that leave `100 Continue` to the handler: `invite` sends it, and is called
 * only when the body is wanted.
 */
export function createExchange(engine: ServedEngine, options: HandlerOptions): Exchange {
  const prefix = mountOf(options)
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

/** On a host name of content that path is the content's. */
function answersConsole({ path, header }: ApiRequest, { isContentHost }: ServedEngine): boolean {
  const isConsole = path === '/console' || path.startsWith('/console/')
  return isConsole && isContentHost?.(header) !== true
}

/** A path where the API has nothing. */
const OUTSIDE = '//'

function pathBelow(mount: string, path: string): string {
  if (mount === '') return path
  return path.startsWith(`${mount}/`) ? path.slice(mount.length) : OUTSIDE
}
