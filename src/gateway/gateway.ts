import { randomUUID } from 'node:crypto'
import type { CID } from 'multiformats/cid'
import type { LiveContent } from '../content/live-content.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import type { GatewayConfig } from '../domain/options.ts'
import { CLIENT_GONE } from '../http/error-response.ts'
import type { ApiHandler, ApiRequest, ApiResponse } from '../http/types.ts'
import type { BlockFetcher } from '../network/block-fetcher.ts'
import { Admission } from './admission.ts'
import { corsHeaders } from './content-headers.ts'
import { type ContentPath, parseContentPath } from './content-path.ts'
import { DenylistFile } from './denylist-file.ts'
import { failureResponse } from './failure-response.ts'
import { chooseFormat, type FormatChoice } from './format.ts'
import { type ContentOrigin, PinnedContent } from './held-content.ts'
import { NetworkContent } from './network-content.ts'
import { ReadAhead } from './read-ahead.ts'
import { RequestBlocks } from './request-blocks.ts'
import { RequestLimit } from './request-limit.ts'
import { resolve } from './resolver.ts'
import { respond } from './respond.ts'
import { StreamBody } from './stream-body.ts'

export interface GatewayDependencies {
  content: LiveContent
  clock: Clock
  logger: Logger
  options?: GatewayConfig
  /** How far content is that is on its way here to be pinned; null for all other. */
  arrivalOf?: (cid: CID) => { blocks: number; bytes: number } | null
  /** For the mode `open`. */
  fetcher?: BlockFetcher | null
}

const METHODS = 'GET, HEAD, OPTIONS'
const PREFLIGHT_SECONDS = '86400'
const CONCURRENT_REQUESTS = 1024
const DURATION_SECONDS = 3600
const RETRIEVAL_SECONDS = 10
const BLOCKS_AHEAD = 16
const ARRIVAL_RETRY_SECONDS = 10

/**
 * Serves pinned content at `/ipfs/<cid>/<path>`. Every answer that is not an error is made of blocks whose hashes have
 * been checked; a body that cannot be finished rightly throws.
 *
 * @throws HoldfastError `INVALID_CID` for an allowed CID that is none, `CONFIG_INVALID` for the mode `open` without
 * a network.
 */
export function createGateway(dependencies: GatewayDependencies): ApiHandler {
  const { clock, logger, options = {}, arrivalOf = () => null } = dependencies
  const origins = originsOf(dependencies)
  const denylist = options.denylist === undefined ? null : new DenylistFile(options.denylist, clock, logger)
  const admission = new Admission({ allow: options.mode === 'allow-list' ? (options.allow ?? []) : null, denylist })
  const limit = new RequestLimit(options.maxConcurrentRequests ?? CONCURRENT_REQUESTS)
  const readAhead = new ReadAhead(BLOCKS_AHEAD)
  const maxDurationMs = (options.maxDurationSeconds ?? DURATION_SECONDS) * 1000

  return async request => {
    const started = clock.now()
    let response: ApiResponse
    let failure: unknown
    try {
      response = await answer(request)
    } catch (error) {
      failure = error
      response = request.signal.aborted ? NOBODY : failureResponse(request, error, randomUUID())
    }
    const { status } = response
    const bytes = Number(response.headers['content-length'] ?? 0)
    const fields = { method: request.method, path: request.path, status, bytes, ms: clock.now() - started }
    if (status >= 500) logger.error({ ...fields, err: failure }, 'gateway request failed')
    else logger.info(fields, 'gateway request')
    return finished(request, response)
  }

  async function answer(request: ApiRequest): Promise<ApiResponse> {
    if (request.method === 'OPTIONS') return PREFLIGHT
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new HoldfastError('METHOD_NOT_ALLOWED', `content answers ${METHODS}`, { details: { allow: METHODS } })
    }
    const path = parseContentPath(request.path)
    checkServiceWorker(request, path)
    const query = new URLSearchParams(request.query)
    const choice = chooseFormat(query, request.header('accept'))
    const leave = limit.enter()
    let blocks: RequestBlocks | null = null
    try {
      blocks = await open(request, path)
      const lookup = await look(request, path, query, blocks, choice)
      return await held(request, blocks, leave, withLocation(request, choice, await respond(lookup, choice)))
    } catch (error) {
      blocks?.release()
      leave()
      throw error
    }
  }

  async function open(request: ApiRequest, path: ContentPath): Promise<RequestBlocks> {
    const rules = await admission.rules()
    rules.checkRoot(path.cid)
    rules.checkBlocked(path.cid, path.names)
    const onlyIfCached = /\bonly-if-cached\b/i.test(request.header('cache-control') ?? '')
    const asked = onlyIfCached ? origins.slice(0, 1) : origins
    const blocks = await RequestBlocks.open(path.cid, {
      origins: asked,
      clock,
      rules,
      readAhead,
      signal: request.signal,
    })
    if (blocks !== null) return blocks
    const arrival = arrivalOf(path.cid)
    if (arrival !== null && !onlyIfCached) throw onItsWay(path.root, arrival)
    throw new HoldfastError(
      onlyIfCached ? 'PRECONDITION_FAILED' : 'CID_NOT_FOUND',
      `${path.root} is not pinned on this node`,
    )
  }

  async function look(
    request: ApiRequest,
    path: ContentPath,
    query: URLSearchParams,
    blocks: RequestBlocks,
    choice: FormatChoice | null,
  ) {
    const asIs = choice !== null && ['raw', 'car', 'tar'].includes(choice.format)
    const resolved = await resolve(blocks, path.root, path.names, !asIs)
    blocks.checkPath(resolved.roots, resolved.names)
    return { ...resolved, request, path, query, blocks, now: clock.now() }
  }

  /** Keeps the blocks, and the place among the requests, for as long as the body is being read. */
  async function held(
    request: ApiRequest,
    blocks: RequestBlocks,
    leave: () => void,
    response: ApiResponse,
  ): Promise<ApiResponse> {
    const { body } = response
    if (body === null || typeof body === 'string' || body instanceof Uint8Array) {
      blocks.release()
      leave()
      return response
    }
    const end = (failure?: unknown): void => {
      request.signal.removeEventListener('abort', close)
      cancelDeadline()
      blocks.release()
      leave()
      if (failure !== undefined && !request.signal.aborted) {
        logger.error({ path: request.path, err: failure }, 'gateway response broken off')
      }
    }
    const stream = await StreamBody.start(body, end)
    const close = (): void => void stream.return().catch(() => undefined)
    request.signal.addEventListener('abort', close, { once: true })
    const cancelDeadline = clock.after(maxDurationMs, () =>
      stream.fail(new HoldfastError('ABORTED', `the answer took longer than ${maxDurationMs / 1000} s`)),
    )
    if (request.signal.aborted) close()
    return { ...response, body: stream }
  }
}

function originsOf({ content, clock, options = {}, fetcher }: GatewayDependencies): ContentOrigin[] {
  const pinned = new PinnedContent(content)
  if (options.mode !== 'open') return [pinned]
  if (!fetcher) throw new HoldfastError('CONFIG_INVALID', 'gateway.mode: open needs the network')
  const timeoutMs = (options.retrievalTimeoutSeconds ?? RETRIEVAL_SECONDS) * 1000
  return [pinned, new NetworkContent(fetcher, clock, timeoutMs)]
}

function onItsWay(root: string, { blocks, bytes }: { blocks: number; bytes: number }): HoldfastError {
  return new HoldfastError('UNAVAILABLE', `${root} is being fetched: ${blocks} blocks, ${bytes} bytes so far`, {
    details: { retryAfter: ARRIVAL_RETRY_SECONDS, blocks, bytes },
  })
}

const NOBODY: ApiResponse = { status: CLIENT_GONE, headers: {}, body: null }

const PREFLIGHT: ApiResponse = {
  status: 204,
  headers: { allow: METHODS, 'access-control-max-age': PREFLIGHT_SECONDS },
  body: null,
}

/** A script at the top of the gateway could take over everything below it. */
function checkServiceWorker(request: ApiRequest, path: ContentPath): void {
  if (request.header('service-worker') === 'script' && path.names.length === 0) {
    throw new HoldfastError('VALIDATION', 'service-worker: a worker can only be registered below a content root')
  }
}

/** Tells caches under which address this representation stands by itself, if the headers chose it. */
function withLocation(request: ApiRequest, choice: FormatChoice | null, response: ApiResponse): ApiResponse {
  if (choice === null || choice.inUrl || response.status >= 300) return response
  const query = new URLSearchParams(request.query)
  query.set('format', choice.format)
  if (choice.format === 'car') {
    for (const [name, value] of choice.parameters) {
      const parameter = `car-${name}`
      if (['car-version', 'car-order', 'car-dups'].includes(parameter) && !query.has(parameter)) {
        query.set(parameter, value)
      }
    }
  }
  return { ...response, headers: { ...response.headers, 'content-location': `?${query}` } }
}

function finished(request: ApiRequest, { status, headers, body }: ApiResponse): ApiResponse {
  const known = typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : {}
  return {
    status,
    headers: { ...corsHeaders, ...known, ...headers },
    body: request.method === 'HEAD' ? null : body,
  }
}
