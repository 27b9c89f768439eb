import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ApiHandler, underName } from '../../src/index.ts'
import type { PrometheusMetrics } from './metrics.ts'
import { answersMetrics, type MeasuredEngine, type MetricsReaders, metricsResponse } from './metrics-endpoint.ts'
import { splitTarget, toApiRequest } from './request.ts'
import { sendResponse } from './response.ts'

/** The two faces of an engine that this adapter serves. */
export interface ServedEngine extends MeasuredEngine {
  readonly api: ApiHandler
  readonly gateway: ApiHandler
}

export interface HandlerOptions extends MetricsReaders {
  /** Where the engine is mounted, e.g. `/pinning`. A host that strips the prefix itself leaves it out. */
  prefix?: string
  /** The ones given to the engine. With them `<prefix>/metrics` answers. */
  metrics?: PrometheusMetrics
}

/** Older versions of Node pay for it at every await. */
const NAMES_WORK = Number.parseInt(process.versions.node, 10) >= 24

export type NodeHandler = (incoming: IncomingMessage, outgoing: ServerResponse) => void

/**
 * A request listener for a Node server: `<prefix>/ipfs/…` is the gateway, everything else below the prefix the API.
 * It answers every request and never throws.
 */
export function createHandler(engine: ServedEngine, options: HandlerOptions = {}): NodeHandler {
  return createExchange(engine, options)
}

/**
 * As {@link createHandler}, for servers that leave `100 Continue` to the handler: `invite` sends it, and is called
 * only when the body is wanted.
 */
export function createExchange(
  engine: ServedEngine,
  { prefix = '', ...options }: HandlerOptions,
): (incoming: IncomingMessage, outgoing: ServerResponse, invite?: () => void) => void {
  const mount = prefix.replace(/\/+$/, '')
  return (incoming, outgoing, invite) => {
    const exchange = (): void => {
      serve(engine, { ...options, prefix: mount }, incoming, outgoing, invite).catch(() => outgoing.destroy())
    }
    if (NAMES_WORK) underName(`${incoming.method} of no route`, exchange)
    else exchange()
  }
}

async function serve(
  engine: ServedEngine,
  { prefix, metrics, ...readers }: HandlerOptions & { prefix: string },
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  invite: (() => void) | undefined,
): Promise<void> {
  let invited = invite === undefined
  const path = pathBelow(prefix, splitTarget(incoming)[0])
  const request = toApiRequest(incoming, outgoing, path, () => {
    if (!invited) invite?.()
    invited = true
  })
  if (metrics !== undefined && answersMetrics(incoming, path, engine, readers)) {
    return sendResponse(incoming, outgoing, await metricsResponse(incoming, metrics, engine), () => invited)
  }
  const surface = path === '/ipfs' || path.startsWith('/ipfs/') ? 'gateway' : 'api'
  const sent = (bytes: number): void => metrics?.sent(surface, bytes)
  await sendResponse(incoming, outgoing, await engine[surface](request), () => invited, sent)
}

/** What lies outside the mount becomes the root, where the API has nothing. */
function pathBelow(mount: string, path: string): string {
  if (mount === '') return path
  return path.startsWith(`${mount}/`) ? path.slice(mount.length) : '/'
}
