import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiHandler, ApiRequest } from '../../src/index.ts'
import { answersMetrics, type MeasuredEngine, type MetricsReaders, metricsResponse } from './metrics-endpoint.ts'
import { type Exchange, exchangeBy, invitationBy } from './node-exchange.ts'
import type { PrometheusMetrics } from './prometheus-metrics.ts'
import { splitTarget, toApiRequest } from './request.ts'
import { sendResponse } from './response.ts'

/** The two HTTP interfaces of an engine. */
export interface ServedEngine extends MeasuredEngine {
  /** The HTTP API. */
  readonly api: ApiHandler
  /** `/ipfs/<cid>/<path>`. */
  readonly gateway: ApiHandler
}

/** Mount path of an engine, and readers of its metrics. */
export interface HandlerOptions extends MetricsReaders {
  /** Mount path, e.g. `/pinning`. Omit it if the host strips the prefix. */
  prefix?: string
  /** The metrics given to the engine. With them `<prefix>/metrics` answers. */
  metrics?: PrometheusMetrics
  /** Console made by `createConsole` of `holdfast/console`. With it `<prefix>/console/` answers. */
  console?: ApiHandler
}

/**
 * A request listener, also usable as middleware (Express, Connect). For a path outside the prefix it calls `next`, or
 * answers 404 without one.
 */
export type NodeHandler = (incoming: IncomingMessage, outgoing: ServerResponse, next?: () => void) => void

/**
 * Makes a request listener for a Node server. Below the prefix, `/ipfs/…` is the gateway, `/console/…` the console if
 * there is one, and everything else the API. It answers all these requests and never throws. Bodies must arrive unread:
 * mount it before middleware that parses them.
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
 * As {@link createHandler}, for servers that leave `100 Continue` to the handler: `invite` sends it, only when the body
 * is wanted.
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

/** On a host name of content that path belongs to the content. */
function answersConsole({ path, header }: ApiRequest, { isContentHost }: ServedEngine): boolean {
  const isConsole = path === '/console' || path.startsWith('/console/')
  return isConsole && isContentHost?.(header) !== true
}

/** A path that the API does not have. */
const OUTSIDE = '//'

function pathBelow(mount: string, path: string): string {
  if (mount === '') return path
  return path.startsWith(`${mount}/`) ? path.slice(mount.length) : OUTSIDE
}
