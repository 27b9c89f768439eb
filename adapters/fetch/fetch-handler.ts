import { nextTurn, turnSpent } from '../../src/concurrency/turns.ts'
import type { ApiHandler, ApiRequest, ApiResponse, BodyStream, Engine } from '../../src/index.ts'

/** The two faces of an engine that this adapter serves. */
export interface FetchServedEngine {
  /** The v3 contract. */
  readonly api: ApiHandler
  /** `/ipfs/<cid>/<path>`. */
  readonly gateway: ApiHandler
  /** Whether a request is for content on a host name of its own. */
  readonly isContentHost?: Engine['isContentHost']
}

/** Where an engine is mounted. */
export interface FetchOptions {
  /** Where the engine is mounted, e.g. `/pinning`. A host that strips the prefix itself leaves it out. */
  prefix?: string
  /** Made by `createConsole` of `holdfast/console`. With it `<prefix>/console/` answers. */
  console?: ApiHandler
  /**
   * The address at the other end of the connection, which a `Request` does not tell. Without it all clients share
   * what is counted by address: failed logins, and places in the gateway when it is busy.
   */
  remoteAddress?: (request: Request) => string | undefined
}

/** Answers a request with a response. */
export type FetchHandler = (request: Request) => Promise<Response>

/** A path where the API has nothing. */
const OUTSIDE = '//'

/**
 * The engine as a function from `Request` to `Response`, for hosts that speak these: `<prefix>/ipfs/…` is the gateway,
 * everything else below the prefix the API, what lies outside a 404. It answers every request; bodies stream both ways.
 */
export function toFetch(
  engine: FetchServedEngine,
  { prefix = '', remoteAddress, console }: FetchOptions = {},
): FetchHandler {
  const mount = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix
  return async request => {
    // Headers join what is repeated.
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
  // On a host name of content that path is the content's.
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
    // A Request that was made by hand has its host in its address alone.
    header: name => request.headers.get(name) ?? (name === 'host' ? url.host : undefined),
    body: bodyOf(request),
    signal: request.signal,
    scheme: url.protocol === 'https:' ? 'https' : 'http',
    remoteAddress,
  }
}

async function* bodyOf({ body }: Request): AsyncGenerator<Uint8Array, void, undefined> {
  if (body !== null) yield* body
}

function toResponse({ status, headers, body }: ApiResponse): Response {
  const init = { status, headers: { ...headers } }
  if (body === null || typeof body === 'string') return new Response(body, init)
  return new Response(body instanceof Uint8Array ? Buffer.from(body) : streamOf(body), init)
}

/** Pulls only what is asked for. */
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
