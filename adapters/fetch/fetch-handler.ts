import { nextTurn, turnSpent } from '../../src/concurrency/turns.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { checkFields } from '../../src/domain/known-fields.ts'
import type { ApiHandler, ApiRequest, ApiResponse, BodyStream, Engine } from '../../src/index.ts'
import { beginToLoad } from '../../src/wiring/loaded-handlers.ts'
import { FETCH } from './fetch-options.ts'

/** The parts of an engine that this adapter serves. */
export interface FetchServedEngine {
  readonly api: ApiHandler
  /** The gateway at `/ipfs/<cid>/<path>`. */
  readonly gateway: ApiHandler
  readonly isContentHost?: Engine['isContentHost']
}

/** Options of the handler. */
export interface FetchOptions {
  /**
   * Path at which the engine is mounted, such as `/pinning`. Omit this option if the host program strips the prefix.
   */
  prefix?: string
  /** From `createConsole` of `holdfast/console`. The handler serves it at `<prefix>/console/`. */
  console?: ApiHandler
  /** Returns the client's IP address. Without this function, all clients share the limits per address. */
  remoteAddress?: (request: Request) => string | undefined
}

/** Handles a request and returns the response. */
export type FetchHandler = (request: Request) => Promise<Response>

/** A path that matches no route of the API. */
const OUTSIDE = '//'

/**
 * Serves the gateway at `<prefix>/ipfs/…` and the API at other paths below the prefix, with streamed bodies.
 *
 * @example const handle = toFetch(engine, { prefix: '/storage' })
 */
export function toFetch(engine: FetchServedEngine, options: FetchOptions = {}): FetchHandler {
  checkFields(options, FETCH, 'toFetch')
  const { prefix = '', remoteAddress, console } = options
  const mount = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix
  beginToLoad(engine.api, engine.gateway)
  return async request => {
    // A comma means several Host headers, because `Headers` joins them.
    if (request.headers.get('host')?.includes(',') === true) return severalHosts()
    const url = new URL(request.url)
    const path = pathBelow(mount, url.pathname)
    const given = toApiRequest(request, url, path, remoteAddress?.(request))
    return toResponse(await handlerOf(engine, given, console)(given))
  }
}

function severalHosts(): Response {
  const body = { error: 'Bad Request', message: 'a request has one Host header only', code: 'VALIDATION' }
  return Response.json(body, { status: 400, headers: { 'access-control-allow-origin': '*' } })
}

function handlerOf(engine: FetchServedEngine, { path, header }: ApiRequest, console?: ApiHandler): ApiHandler {
  const isBelow = (folder: string): boolean => path === folder || path.startsWith(`${folder}/`)
  // On a content host name, the path `/console` belongs to the content.
  if (console !== undefined && isBelow('/console') && engine.isContentHost?.(header) !== true) return console
  return isBelow('/ipfs') ? engine.gateway : engine.api
}

function pathBelow(mount: string, path: string): string {
  if (mount === '') return path
  return path.startsWith(`${mount}/`) ? path.slice(mount.length) : OUTSIDE
}

function toApiRequest(request: Request, url: URL, path: string, remoteAddress: string | undefined): ApiRequest {
  return {
    method: request.method,
    path,
    query: url.search.slice(1),
    // A `Request` that a program has constructed contains its host only in the URL.
    header: name => request.headers.get(name) ?? (name === 'host' ? url.host : undefined),
    body: bodyOf(request),
    signal: request.signal,
    scheme: url.protocol === 'https:' ? 'https' : 'http',
    remoteAddress,
  }
}

async function* bodyOf({ body, bodyUsed }: Request): AsyncGenerator<Uint8Array, void, undefined> {
  if (bodyUsed || body?.locked === true) {
    const before = 'the body was read before it reached Holdfast, which needs the unread request'
    throw new HoldfastError('VALIDATION', before)
  }
  if (body !== null) yield* body
}

function toResponse({ status, headers, body }: ApiResponse): Response {
  const init = { status, headers: { ...headers } }
  if (body === null || typeof body === 'string') return new Response(body, init)
  return new Response(body instanceof Uint8Array ? Buffer.from(body) : streamOf(body), init)
}

function streamOf(body: BodyStream): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      pull: async controller => {
        const { done, value } = await chunks.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
        if (turnSpent()) await nextTurn()
      },
      cancel: async () => {
        await chunks.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
